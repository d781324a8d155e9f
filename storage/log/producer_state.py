"""What a partition knows of its producers, and the transactions open on it (Kafka's `ProducerStateManager`, `ProducerStateEntry`).

One `bytes` per producer id, because there may be a hundred thousand of them: a fixed head and the last five batches, oldest first.

    head   epoch int16 | coordinator epoch int32 | last timestamp int64 | arrival int64 | open transaction's first offset int64 (-1 none)
    batch  last sequence int32 | last offset int64 | offset delta int32 | timestamp int64

Arrival is the broker's clock when the producer last wrote: producers expire by it, never by the timestamps of their records.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from oncelog.protocol.primitives import decrement_sequence
from oncelog.protocol.records import BatchHeader
from oncelog.storage.files.txn_index import AbortedTxn

MAX_CACHED_BATCHES: Final = 5

_HEAD = Struct(">hiqqq")
_BATCH = Struct(">iqiq")
_TIMES = Struct(">qqq")  # last three of the head
_HEAD_BYTES = _HEAD.size
_EPOCHS_BYTES = _HEAD_BYTES - _TIMES.size
_CACHE_BYTES = (MAX_CACHED_BATCHES - 1) * _BATCH.size
NO_OFFSET: Final = -1


class CachedBatch(NamedTuple):
    """One batch that a retry can be recognised by."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerStateEntry(NamedTuple):
    """One producer, unpacked. `batches` oldest first; -1 stands for "none" in epochs."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    last_timestamp: int
    arrival_ms: int
    current_txn_first_offset: int | None
    batches: tuple[CachedBatch, ...]

    @property
    def producer_epoch(self) -> int:
        return self.epoch

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def pack(self) -> bytes:
        first = NO_OFFSET if self.current_txn_first_offset is None else self.current_txn_first_offset
        head = _HEAD.pack(self.epoch, self.coordinator_epoch, self.last_timestamp, self.arrival_ms, first)
        return head + b"".join(_BATCH.pack(*batch) for batch in self.batches[-MAX_CACHED_BATCHES:])


def unpack_entry(producer_id: int, packed: bytes) -> ProducerStateEntry:
    """The inverse of `ProducerStateEntry.pack`."""
    epoch, coordinator_epoch, timestamp, arrival, first = _HEAD.unpack_from(packed)
    batches = tuple(CachedBatch(*fields) for fields in _BATCH.iter_unpack(packed[_HEAD_BYTES:]))
    return ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, arrival, None if first < 0 else first, batches)


class CompletedTxn(NamedTuple):
    """A transaction that a marker ended; `last_offset` is the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ProducerState:
    """Producers of one log and its open transactions. Replay and live appends go through the same methods; nothing is refused here."""

    __slots__ = ("_completed", "_entries", "_ongoing", "_unstable", "map_end_offset", "thin")

    def __init__(self) -> None:
        self._entries: dict[int, bytes] = {}
        self._ongoing: OrderedDict[int, int] = OrderedDict()  # first offset -> producer id, rising
        self._unstable: OrderedDict[int, int] = OrderedDict()  # first offset -> producer id: open, or ended above the high watermark
        self._completed: deque[tuple[int, int]] = deque()  # (marker offset, first offset), rising: leaves _unstable with the high watermark
        self.map_end_offset = 0
        self.thin = False  # loaded from a snapshot as the window is lost: the log knows more batches

    # -- asking

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ProducerStateEntry]:
        return (unpack_entry(producer_id, packed) for producer_id, packed in self._entries.items())

    def get(self, producer_id: int) -> ProducerStateEntry | None:
        packed = self._entries.get(producer_id)
        return unpack_entry(producer_id, packed) if packed is not None else None

    def packed(self, producer_id: int) -> bytes | None:
        return self._entries.get(producer_id)

    def marked(self, producer_id: int) -> tuple[int, int, int]:
        """(epoch, coordinator epoch, first offset of the open transaction), each -1 for none: what markers are checked against."""
        packed = self._entries.get(producer_id)
        if packed is None:
            return -1, -1, NO_OFFSET
        epoch, coordinator_epoch, _, _, first = _HEAD.unpack_from(packed)
        return epoch, coordinator_epoch, first

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """A transaction of exactly this epoch is open."""
        packed = self._entries.get(producer_id)
        if packed is None:
            return False
        known_epoch, _, _, _, first = _HEAD.unpack_from(packed)
        return bool(first >= 0 and known_epoch == epoch)

    def copy_packed(self) -> dict[int, bytes]:
        """A consistent copy that another thread may encode."""
        return dict(self._entries)

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the earliest transaction that readers of committed data must wait for; O(1)."""
        return next(iter(self._unstable), None)

    def open_transactions(self) -> list[tuple[int, int, int]]:
        """(producer id, epoch, first offset), by first offset."""
        return [(pid, _HEAD.unpack_from(self._entries[pid])[0], first) for first, pid in self._ongoing.items()]

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """What the last stable offset is once `completed` is done: the earliest other open transaction, else behind the marker."""
        for first, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first
        return completed.last_offset + 1

    # -- changing

    def append_batch(self, header: BatchHeader, arrival_ms: int) -> None:
        """A data batch of a producer was written (`ProducerAppendInfo.appendDataBatch`)."""
        delta = header.last_offset_delta
        base_offset, last_sequence, transactional = header.base_offset, header.last_sequence, header.attributes & 0x10
        self.append(
            header.producer_id, header.producer_epoch, base_offset, delta, last_sequence, header.max_timestamp, arrival_ms, transactional
        )

    def append(
        self,
        producer_id: int,
        epoch: int,
        base_offset: int,
        delta: int,
        last_sequence: int,
        timestamp: int,
        arrival_ms: int,
        transactional: int,
    ) -> None:
        """`append_batch`, of the fields of its header."""
        packed = self._entries.get(producer_id)
        coordinator_epoch, first, cached = -1, NO_OFFSET, b""
        if packed is not None:
            old_epoch, coordinator_epoch, _, _, first = _HEAD.unpack_from(packed)
            if old_epoch == epoch:
                cached = packed[_HEAD_BYTES:][-_CACHE_BYTES:]
        last_offset = base_offset + delta
        if transactional and first < 0:
            first = base_offset
            self._ongoing[first] = self._unstable[first] = producer_id
        head = _HEAD.pack(epoch, coordinator_epoch, timestamp, arrival_ms, first)
        self._entries[producer_id] = b"".join((head, cached, _BATCH.pack(last_sequence, last_offset, delta, timestamp)))
        self.map_end_offset = last_offset + 1

    def append_next(self, producer_id: int, last_sequence: int, delta: int, last_offset: int, timestamp: int, arrival_ms: int) -> None:
        """`append_batch` of a batch that `continues` let pass."""
        packed = self._entries[producer_id]
        self._entries[producer_id] = b"".join(
            (
                packed[:_EPOCHS_BYTES],
                _TIMES.pack(timestamp, arrival_ms, NO_OFFSET),
                packed[_HEAD_BYTES:][-_CACHE_BYTES:],
                _BATCH.pack(last_sequence, last_offset, delta, timestamp),
            )
        )
        self.map_end_offset = last_offset + 1

    def end_transaction(
        self, producer_id: int, epoch: int, coordinator_epoch: int, offset: int, timestamp: int, arrival_ms: int, commit: bool
    ) -> CompletedTxn | None:
        """A marker was written at `offset`; what it ended, None when nothing was open (`ProducerAppendInfo.appendEndTxnMarker`)."""
        packed = self._entries.get(producer_id)
        first, cached = NO_OFFSET, b""
        if packed is not None:
            old_epoch, _, _, _, first = _HEAD.unpack_from(packed)
            if old_epoch == epoch:
                cached = packed[_HEAD_BYTES:]
        self._entries[producer_id] = _HEAD.pack(epoch, coordinator_epoch, timestamp, arrival_ms, NO_OFFSET) + cached
        self.map_end_offset = offset + 1
        return CompletedTxn(producer_id, first, offset, not commit) if first >= 0 else None

    def complete(self, completed: CompletedTxn) -> None:
        """The marker is in the log and in the index: nobody waits for it any more once the high watermark is past it."""
        self._ongoing.pop(completed.first_offset, None)
        self._completed.append((completed.last_offset, completed.first_offset))

    def high_watermark_moved(self, high_watermark: int) -> None:
        completed = self._completed
        while completed and completed[0][0] < high_watermark:
            self._unstable.pop(completed.popleft()[1], None)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers idle for `expiration_ms` with nothing open; how many."""
        gone = []
        for producer_id, packed in self._entries.items():
            _, _, _, arrival, first = _HEAD.unpack_from(packed)
            if first < 0 and now_ms - arrival >= expiration_ms:
                gone.append(producer_id)
        for producer_id in gone:
            del self._entries[producer_id]
        return len(gone)

    def replace(self, entry: ProducerStateEntry) -> None:
        """Another set of batches for a producer; what is open stays as it is."""
        self._entries[entry.producer_id] = entry.pack()

    def load(self, entries: dict[int, bytes], end_offset: int) -> None:
        """Take over a snapshot that covers everything below `end_offset`."""
        self._entries = entries
        self._completed.clear()
        opened = sorted((_HEAD.unpack_from(packed)[4], pid) for pid, packed in entries.items())
        self._ongoing = OrderedDict((first, pid) for first, pid in opened if first >= 0)
        self._unstable = OrderedDict(self._ongoing)
        self.map_end_offset = end_offset

    def aborted_txn(self, completed: CompletedTxn) -> AbortedTxn:
        """The index entry of a transaction that was aborted; to be asked before `complete`."""
        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, self.last_stable_offset(completed))
