"""What one test did to a broker: told in its report when it fails."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.journal.check import check
from oncelog.broker.journal.story import fenced
from oncelog.broker.testkit.broker import Broker
from oncelog.broker.testkit.process import Process

KEPT_LINES = 200
_ENDED = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


class Watch:
    """From `with` on; at its end rules that had to hit and did not raise NeverHit, unless the test has `failed` already."""

    def __init__(self, title: str, broker: Broker | Process) -> None:
        self.title = title
        self._broker = broker
        self._lines = _Lines()
        self._at_end: str | None = None
        self.failed = False

    def __enter__(self) -> Watch:
        if isinstance(self._broker, Broker):
            self._lines.listen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._at_end = self.told()
        self._lines.end()
        try:
            self._broker.faults.clear()
        except NeverHit:
            if not self.failed:
                raise

    def told(self) -> str:
        """Of a watch that has ended: as it was then."""
        if self._at_end is not None:
            return self._at_end
        return "\n".join(self._all())

    def _all(self) -> Iterator[str]:
        if isinstance(self._broker, Process):
            if self._broker.is_up:
                yield f"pid {self._broker.pid}"
            lines = self._broker.log[-KEPT_LINES:]
        else:
            lines = list(self._lines.kept)
        yield from _of_broker(self._broker)
        yield "log lines:" if lines else "log lines: none"
        yield from (f"  {line}" for line in lines)


def _of_broker(broker: Broker | Process) -> Iterator[str]:
    try:
        yield broker.bootstrap
        transactions = {id: told for id, told in broker.state()["transactions"].items() if told["state"] not in _ENDED}
    except RuntimeError as down:
        yield str(down)
    else:
        yield "open transactions:" if transactions else "open transactions: none"
        yield from (f"  {_transaction(id, told)}" for id, told in transactions.items())
    entries = broker.journal()
    for title, lines in (("fenced", list(fenced(entries))), ("contradictions in the journal", check(entries))):
        yield f"{title}:" if lines else f"{title}: none"
        yield from (f"  {line}" for line in lines)
    rules = broker.faults.list()
    yield "rules:" if rules else "rules: none"
    yield from (f"  {_rule(each)}" for each in rules)


def _transaction(id: str, told: dict[str, Any]) -> str:
    where = ", ".join(told["partitions"]) or "no partition yet"
    return f"{id}: {told['state']}, producer {told['producer_id']} epoch {told['producer_epoch']}, {where}"


def _rule(told: dict[str, Any]) -> str:
    match = ", ".join(f"{name}={value}" for name, value in told["match"].items())
    action = ", ".join(str(value) if name == "type" else f"{name}={value}" for name, value in told["action"].items())
    of = "" if told["times"] is None else f" of {told['times']}"
    return f"{told['id']}: {action} where {match or 'anything'}; {told['hits']}{of} hits"


class _Lines(logging.Handler):
    """The broker's log lines; loggers are those of the process, so other brokers of the same test are heard too."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s %(message)s"))
        self.kept: deque[str] = deque(maxlen=KEPT_LINES)
        self._level = logging.NOTSET

    def listen(self) -> None:
        logger = logging.getLogger("oncelog")
        self._level = logger.level
        if not logger.isEnabledFor(logging.INFO):
            logger.setLevel(logging.INFO)
        logger.addHandler(self)

    def end(self) -> None:
        logger = logging.getLogger("oncelog")
        if self in logger.handlers:
            logger.removeHandler(self)
            logger.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(self.format(record))
