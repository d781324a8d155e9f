"""What a test claims about exactly-once, and in words what is wrong with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from oncelog.broker.testkit.broker import Broker
from oncelog.broker.testkit.observing import Record
from oncelog.broker.testkit.process import Process

SHOWN = 20  # of the faults; the rest is counted
_ENDED = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")
_AT = {"partition": -1, "offset": -1}  # what a plain value lacks


class _Seen(NamedTuple):
    """A record that a reader got: by what it is known, and where it stood (-1: not told)."""

    name: Hashable
    partition: int
    offset: int


def assert_exactly_once(
    source: Broker | Process | Iterable[Any],
    topic: str,
    expected: Iterable[Hashable],
    *,
    key: Callable[[Any], Hashable] | None = None,
    in_order: bool = False,
    broker: Broker | Process | None = None,
) -> None:
    """Everything `expected` was read once, and nothing else. Raises AssertionError, which names each record that was not.

    `source`: a broker, read as by a committed reader; or what a consumer got: messages of confluent-kafka, kafka-python or aiokafka,
    `Record`s, or plain values. `expected`: by what each record is known, as often as it was sent; text stands for its UTF-8.
    `key(record)`: that of one record; its value unless told. `in_order`: within each partition in the order of `expected`.
    `broker`: where the records came from, to tell who wrote them and what became of their transactions.
    """
    held = source if isinstance(source, Broker | Process) else broker
    records: list[Any] = list(source.records(topic) if isinstance(source, Broker | Process) else source)
    name_of: Callable[[Any], Hashable] = key or _value_of
    seen = [_Seen(_as_bytes(name_of(each)), _part(each, "partition"), _part(each, "offset")) for each in records]
    wanted = [_as_bytes(each) for each in expected]
    written = _Written(topic, held.outcomes(topic) if held is not None else None, name_of)
    faults = [*_aborted(seen, written), *_counted(seen, wanted, written), *(_disordered(seen, wanted, written) if in_order else ())]
    if faults:
        more = [f"... and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        head = f"{topic} was not read exactly once: {len(wanted)} records expected, {len(seen)} read"
        raise AssertionError("\n  ".join([head, *faults[:SHOWN], *more]))


def assert_no_open_transactions(broker: Broker | Process) -> None:
    """Every transaction has ended, and no partition waits for a marker. Raises AssertionError, which names those that do."""
    state = broker.state()
    faults = []
    for id, told in state["transactions"].items():
        if told["state"] not in _ENDED:
            pair = f"producer {told['producer_id']} epoch {told['producer_epoch']}"
            since = f"for {(broker.clock.now_ms() - told['start_ms']) / 1000:.1f} s" if told["start_ms"] >= 0 else ""
            where = ", ".join(told["partitions"]) or "no partition yet"
            faults.append(f"{id} is {told['state']} {since}: {pair}, {where}; it times out after {told['timeout_ms'] / 1000:g} s")
    for topic, has in state["topics"].items():
        for number, partition in enumerate(has["partitions"]):
            for each in partition["producers"]:
                if each["current_txn_start_offset"] is not None:
                    pair = f"producer {each['producer_id']} epoch {each['producer_epoch']}"
                    waits = f"committed readers wait at {partition['last_stable_offset']} of {partition['high_watermark']}"
                    faults.append(
                        f"{topic}-{number} has records without a marker from offset {each['current_txn_start_offset']} by {pair}; {waits}"
                    )
    if faults:
        raise AssertionError("\n  ".join(["transactions are open", *faults]))


class _Written:
    """What stands in the log, as far as a broker could be asked."""

    def __init__(self, topic: str, outcomes: list[tuple[Record, str]] | None, name_of: Callable[[Any], Hashable]) -> None:
        self._topic = topic
        self._known = outcomes is not None
        outcomes = outcomes or []
        self._by_place = {(record.partition, record.offset): (record, outcome) for record, outcome in outcomes}
        self._by_name: dict[Hashable, list[tuple[Record, str]]] = defaultdict(list)
        for record, outcome in outcomes:
            self._by_name[_as_bytes(name_of(record))].append((record, outcome))

    def outcome(self, seen: _Seen) -> str | None:
        told = self._by_place.get((seen.partition, seen.offset))
        return told[1] if told is not None else None

    def place(self, seen: _Seen) -> str:
        told = self._by_place.get((seen.partition, seen.offset))
        if told is not None:
            return self._told(*told)
        return f"{self._topic}-{seen.partition} at {seen.offset}" if seen.offset >= 0 else "a place not told"

    def fate(self, name: Hashable) -> str:
        """What became of a record that no reader got."""
        if name in self._by_name:
            return "it stands at " + ", and at ".join(self._told(*each) for each in self._by_name[name])
        return "it is not in the log" if self._known else "whether it was written is not known here"

    def _told(self, record: Record, outcome: str) -> str:
        place = f"{self._topic}-{record.partition} at {record.offset}"
        if record.producer_id < 0:
            return f"{place} (by a producer without idempotence)"
        what = "outside transactions" if outcome == "plain" else f"transaction {outcome}"
        return f"{place} (producer {record.producer_id} epoch {record.producer_epoch}, {what})"


def _aborted(seen: list[_Seen], written: _Written) -> Iterator[str]:
    for each in seen:
        outcome = written.outcome(each)
        if outcome in ("aborted", "open"):
            yield f"{outcome}, yet visible: {_shown(each.name)}, {written.place(each)}"


def _counted(seen: list[_Seen], wanted: list[Hashable], written: _Written) -> Iterator[str]:
    places: dict[Hashable, list[_Seen]] = defaultdict(list)
    for each in seen:
        places[each.name].append(each)
    counts = Counter(wanted)
    for name, count in counts.items():
        got = places.get(name, [])
        if len(got) < count:
            often = "" if count == 1 else f" {count - len(got)} of {count} times"
            yield f"lost{often}: {_shown(name)}; {written.fate(name)}"
        elif len(got) > count:
            once = "twice" if (len(got), count) == (2, 1) else f"{len(got)} times, not {count}"
            yield f"{once}: {_shown(name)}, {'; '.join(written.place(each) for each in got)}"
    for name, got in places.items():
        if name not in counts:
            yield f"not expected: {_shown(name)}, {'; '.join(written.place(each) for each in got)}"


def _disordered(seen: list[_Seen], wanted: list[Hashable], written: _Written) -> Iterator[str]:
    rank = {name: at for at, name in enumerate(wanted)}
    before: dict[int, _Seen] = {}
    for each in seen:
        if each.name not in rank:
            continue
        last = before.get(each.partition)
        if last is not None and rank[each.name] < rank[last.name]:
            yield f"out of order: {_shown(each.name)}, {written.place(each)}, came behind {_shown(last.name)}, {written.place(last)}"
        before[each.partition] = each


def _part(record: Any, name: str) -> Any:
    """A field of a record, or of a message that has methods instead; a plain value has no place."""
    if not hasattr(record, "value"):
        return _AT[name]
    value = getattr(record, name, _AT.get(name))
    return value() if callable(value) else value


def _value_of(record: Any) -> Hashable:
    value: Hashable = _part(record, "value") if hasattr(record, "value") else record
    return value


def _as_bytes(name: Hashable) -> Hashable:
    return name.encode() if isinstance(name, str) else name


def _shown(name: Hashable) -> str:
    try:
        return repr(name.decode()) if isinstance(name, bytes) else repr(name)
    except UnicodeDecodeError:
        return repr(name)
