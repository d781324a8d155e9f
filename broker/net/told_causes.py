"""What happened to producers and members, each with its cause in a sentence: said once in the log, and to who listens."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.net.refusals import RefusalLog
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.coordinator.txn.decisions import Fenced

KEPT_FENCES = 10_000
_log = logging.getLogger(__name__)


class Cause(NamedTuple):
    """What happened, and why. `kind` as the inspector's API.md has them; None is what does not apply."""

    kind: str
    sentence: str
    error: ErrorCode | None = None
    api: str | None = None
    transactional_id: str | None = None
    group_id: str | None = None
    place: TopicPartition | None = None
    producer_id: int | None = None
    epoch_before: int | None = None
    epoch_after: int | None = None
    member_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    by_client_id: str | None = None
    by_client_host: str | None = None


class Causes:
    """Of one broker."""

    def __init__(self) -> None:
        self.listener: Callable[[Cause], None] | None = None
        self._fences: OrderedDict[str, str] = OrderedDict()
        self._lines = RefusalLog(_log.info, time.monotonic)

    def tell(self, cause: Cause) -> None:
        """Say it once in the log, and to who listens."""
        name = cause.error.name if cause.error is not None else cause.kind
        self._lines.tell("refused" if cause.error is not None else "told", cause.client_host or "-", error=name, why=cause.sentence)
        if self.listener is not None:
            self.listener(cause)

    # -- what the coordinators tell

    def fenced(self, told: Fenced, epoch_after: int | None) -> None:
        """A producer lost its epoch."""
        client_id, _, host = told.by.rpartition("@")
        who = f"{client_id or 'a client without a name'} at {host}" if host else ""
        kind, how = _how(told.why, who)
        self._fences[told.transactional_id] = how
        self._fences.move_to_end(told.transactional_id)
        if len(self._fences) > KEPT_FENCES:
            self._fences.popitem(last=False)
        sentence = f"Producer {told.producer_id} epoch {told.producer_epoch} of {told.transactional_id} is fenced: {how}."
        if self.listener is not None:  # the coordinator has logged it
            self.listener(
                Cause(
                    kind,
                    sentence,
                    transactional_id=told.transactional_id,
                    producer_id=told.producer_id,
                    epoch_before=told.producer_epoch,
                    epoch_after=epoch_after,
                    by_client_id=client_id or None,
                    by_client_host=host or None,
                )
            )

    def rebalanced(self, group_id: str, epoch: int, member_id: str, client_id: str | None, client_host: str | None, why: str) -> None:
        """A group begins a new generation or epoch."""
        sentence = f"{group_id} rebalances: {why}."
        host = None if client_host is None else client_host.removeprefix("/")
        if self.listener is not None:
            self.listener(
                Cause(
                    "rebalance", sentence, group_id=group_id, epoch_after=epoch, member_id=member_id, client_id=client_id, client_host=host
                )
            )

    def fence_of(self, transactional_id: str) -> str | None:
        """How the id came to its newest epoch, as far as it is remembered."""
        return self._fences.get(transactional_id)


def _how(why: str, who: str) -> tuple[str, str]:
    """(kind, words) of a reason that `coordinator/txn/decisions.py` gives."""
    if why.startswith("open for longer"):
        return "timeout", f"its transaction was {why}"
    if why.startswith(("aborted", "marker")):
        return "aborted", f"{why}{f' ({who})' if who else ''}"
    return "fenced", f"{who or 'another instance'} asked for the id by InitProducerId"
