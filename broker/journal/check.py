"""What a journal proves wrong about exactly-once. It claims nothing that what it has not seen could explain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from oncelog.broker.journal.entries import Entry
from oncelog.protocol.primitives import increment_sequence

KEPT_BATCHES = 64  # of each producer in a partition: those that a client may still send again
_Pair = tuple[int, int]
_Place = tuple[str, str]  # group and partition


def check(entries: Iterable[Entry]) -> list[str]:
    """Sentences about acknowledgements that contradict each other, in the order of their occurrence."""
    return _Check().of(entries)


class _Check:
    def __init__(self) -> None:
        self._wrong: list[str] = []
        self._starts = 0
        self._outcomes: dict[_Pair, bool] = {}  # of ends that were acknowledged: by producer, unless it has begun another since
        self._fences: dict[str, tuple[tuple[int, int], _Pair]] = {}  # by transactional id: since when its newest producer is known
        self._batches: dict[tuple[str, int], tuple[int, dict[int, tuple[int, int]]]] = {}  # epoch, first sequence: last one and offset
        self._pending: dict[_Pair, dict[_Place, int]] = defaultdict(dict)
        self._aborted: dict[_Place, set[int]] = defaultdict(set)
        self._allowed: dict[_Place, set[int]] = defaultdict(set)

    def of(self, entries: Iterable[Entry]) -> list[str]:
        steps: dict[str, Callable[[Entry], None]] = {
            "Produce": self._produce,
            "InitProducerId": self._init,
            "AddPartitionsToTxn": self._began,
            "AddOffsetsToTxn": self._began,
            "TxnOffsetCommit": self._txn_offsets,
            "EndTxn": self._end,
            "OffsetCommit": self._offsets,
            "OffsetFetch": self._fetched,
        }
        for entry in entries:
            if "start" in entry:
                self._starts += 1
                self._batches.clear()  # a power cut may have taken the end of the journal
            elif entry["api"] in steps:
                steps[entry["api"]](entry)
        return self._wrong

    # -- transactions

    def _init(self, entry: Entry) -> None:
        if entry.get("error") != "NONE" or entry["transactional_id"] is None:
            return
        id, pair = entry["transactional_id"], _pair(entry["answered"])
        before = self._fences.get(id)
        if before is not None and pair[0] == before[1][0] and pair[1] < before[1][1]:
            self._tell(entry, f"gave out epoch {pair[1]} behind epoch {before[1][1]} of producer {pair[0]}")
        self._fences[id] = ((self._starts, entry["ended"]), pair)

    def _began(self, entry: Entry) -> None:
        if _acknowledged(entry):
            self._not_fenced(entry, _pair(entry["producer"]))
            self._outcomes.pop(_pair(entry["producer"]), None)

    def _end(self, entry: Entry) -> None:
        pair = _pair(entry["producer"])
        if entry.get("error") != "NONE":
            if entry["committed"]:
                self._pending.pop(pair, None)  # perhaps committed: nothing is known of these offsets
            return
        self._not_fenced(entry, pair)
        before = self._outcomes.setdefault(pair, entry["committed"])
        if before != entry["committed"]:
            words = ("committed", "aborted") if before else ("aborted", "committed")
            self._tell(entry, f"two outcomes: the transaction of {_told(pair)} was acknowledged as {words[0]}, and now as {words[1]}")
        for place, offset in self._pending.pop(pair, {}).items():
            (self._allowed if entry["committed"] else self._aborted)[place].add(offset)

    def _not_fenced(self, entry: Entry, pair: _Pair) -> None:
        known = self._fences.get(entry["transactional_id"])
        if known is not None and (self._starts, entry["begun"]) > known[0] and known[1][0] == pair[0] and pair[1] < known[1][1]:
            self._tell(entry, f"fenced, yet acknowledged: {_told(pair)} of {entry['transactional_id']}, whose epoch is {known[1][1]}")

    # -- records

    def _produce(self, entry: Entry) -> None:
        for batch in entry["batches"]:
            pair = _pair(batch["producer"])
            if batch.get("error") == "NONE" and pair[0] >= 0:
                if entry["transactional_id"] is not None:
                    self._not_fenced(entry, pair)
                    self._outcomes.pop(pair, None)
                self._sequence(entry, batch, pair)

    def _sequence(self, entry: Entry, batch: dict[str, Any], pair: _Pair) -> None:
        first, last = batch["sequence"]
        offset, place = batch["offset"], batch["partition"]
        epoch, seen = self._batches.get((place, pair[0]), (-1, {}))
        if epoch < pair[1]:
            seen = {}
        elif epoch > pair[1]:
            return
        self._batches[place, pair[0]] = (pair[1], seen)
        if first in seen:
            was = seen[first][1]
            if offset >= 0 and was >= 0 and offset != was:
                self._tell(entry, f"written twice: sequence {first} of {_told(pair)} stands in {place} at {was} and at {offset}")
            return
        if seen:
            newest = next(reversed(seen.values()))[0]
            if first != increment_sequence(newest, 1) and first > newest:
                self._tell(entry, f"gap: sequence {first} of {_told(pair)} was acknowledged in {place} behind {newest}")
        if not seen or first > next(reversed(seen)) or first == 0:
            seen[first] = (last, offset)
        if len(seen) > KEPT_BATCHES:
            del seen[next(iter(seen))]

    # -- offsets

    def _txn_offsets(self, entry: Entry) -> None:
        pair = _pair(entry["producer"])
        accepted = {place: offset for place, offset in entry["offsets"].items() if entry.get("partitions", {}).get(place) == "NONE"}
        if accepted:
            self._not_fenced(entry, pair)
            self._outcomes.pop(pair, None)
        for place, offset in accepted.items():
            self._pending[pair][entry["group"], place] = offset

    def _offsets(self, entry: Entry) -> None:
        for place, offset in entry["offsets"].items():
            self._allowed[entry["group"], place].add(offset)

    def _fetched(self, entry: Entry) -> None:
        for group, offsets in entry.get("groups", {}).items():
            for place, offset in offsets.items():
                if offset in self._aborted[group, place] and offset not in self._allowed[group, place]:
                    self._tell(entry, f"aborted, yet visible: offset {offset} of {place} in group {group}")

    def _tell(self, entry: Entry, what: str) -> None:
        who = f"{entry['api']} of {entry['client_id'] or 'a client without a name'} at {entry['connection']}"
        self._wrong.append(f"{what} ({who}, request {entry['begun']})")


def _acknowledged(entry: Entry) -> bool:
    return entry.get("error") == "NONE" or "NONE" in entry.get("partitions", {}).values()


def _pair(told: list[int]) -> _Pair:
    return (told[0], told[1])


def _told(pair: _Pair) -> str:
    return f"producer {pair[0]} epoch {pair[1]}"
