"""Producer state by replay: what the batches of one partition say about sequences, markers and open transactions.

Follows Kafka's ProducerStateManager and ProducerAppendInfo with replication origin: everything is applied, nothing is
refused. What a broker would have refused becomes a finding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.primitives import increment_sequence
from oncelog.protocol.records import iter_records
from oncelog.storage.audit.findings import Findings, Kind, Severity
from oncelog.storage.audit.raw_directory import BatchAt
from oncelog.storage.audit.raw_formats import ProducerEntry, TxnEntry

NO_SEQUENCE = -1
# producer.id.expiration.ms: a producer silent for longer is forgotten and may go on with any sequence
EXPIRATION_MS = 86_400_000
CACHED_BATCHES = 5


class MarkerAt(NamedTuple):
    """One end marker. `first_offset` is where the transaction that it closed began, None when it closed nothing."""

    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int
    offset: int
    timestamp: int
    first_offset: int | None
    data_epoch: int


class OpenTransaction(NamedTuple):
    producer_id: int
    producer_epoch: int
    first_offset: int


class CachedBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerReplay:
    """One producer on one partition."""

    producer_epoch: int
    coordinator_epoch: int = -1
    timestamp: int = -1
    batches: list[CachedBatch] = field(default_factory=list)
    first_offset: int | None = None
    # epoch of the data of the open transaction: with transaction version 2 the marker's is one higher
    data_epoch: int = -1
    last_marker: MarkerAt | None = None

    def entry(self, producer_id: int) -> ProducerEntry:
        """As a `.snapshot` holds it: the last batch only."""
        last = self.batches[-1] if self.batches else None
        return ProducerEntry(
            producer_id,
            self.producer_epoch,
            last.last_sequence if last else NO_SEQUENCE,
            last.last_offset if last else -1,
            last.last_offset - last.base_offset if last else 0,
            self.timestamp,
            self.coordinator_epoch,
            -1 if self.first_offset is None else self.first_offset,
        )


@dataclass(slots=True)
class PartitionReplay:
    """Producers of one partition. `gaps_allowed`: compaction removes batches; `sequences`: internal topics carry none.

    `begin`: the first offset that is left. What a producer did before it nobody knows, unless `seed` tells.
    """

    findings: Findings
    gaps_allowed: bool
    sequences: bool
    begin: int = 0
    producers: dict[int, ProducerReplay] = field(default_factory=dict)
    markers: list[MarkerAt] = field(default_factory=list)
    aborted: list[TxnEntry] = field(default_factory=list)

    def seed(self, entries: list[ProducerEntry]) -> None:
        """Start from a snapshot: the log in front of it is gone."""
        self.begin = 0
        for entry in entries:
            state = ProducerReplay(entry.producer_epoch, entry.coordinator_epoch, entry.timestamp)
            if entry.last_sequence >= 0:
                first = (entry.last_sequence - entry.offset_delta) & 0x7FFFFFFF
                base = entry.last_offset - entry.offset_delta
                state.batches.append(CachedBatch(first, entry.last_sequence, base, entry.last_offset, entry.timestamp))
            if entry.current_txn_first_offset >= 0:
                state.first_offset, state.data_epoch = entry.current_txn_first_offset, entry.producer_epoch
            self.producers[entry.producer_id] = state

    def apply(self, batch: BatchAt, file: str) -> None:
        """The next batch of the log."""
        if batch.header.is_control:
            self._control(batch, file)
        elif batch.header.producer_id >= 0:
            self._data(batch, file)

    def open_transactions(self) -> list[OpenTransaction]:
        found = [
            OpenTransaction(producer_id, state.data_epoch, state.first_offset)
            for producer_id, state in self.producers.items()
            if state.first_offset is not None
        ]
        return sorted(found, key=lambda transaction: transaction.first_offset)

    def _data(self, batch: BatchAt, file: str) -> None:
        header = batch.header
        state = self.producers.get(header.producer_id)
        if state is None:
            state = self.producers[header.producer_id] = ProducerReplay(header.producer_epoch)
        elif self.sequences:
            self._check_sequence(state, batch, file)
        if header.producer_epoch < state.producer_epoch:
            message = f"producer {header.producer_id} writes with epoch {header.producer_epoch}, {state.producer_epoch} was seen before"
            self.findings.error(Kind.PRODUCER_EPOCH, message, offset=header.base_offset, file=file)
        if header.producer_epoch != state.producer_epoch:
            state.producer_epoch = header.producer_epoch
            state.batches.clear()
        last_sequence = increment_sequence(header.base_sequence, header.last_offset_delta) if header.base_sequence >= 0 else NO_SEQUENCE
        state.batches.append(CachedBatch(header.base_sequence, last_sequence, header.base_offset, header.last_offset, header.max_timestamp))
        del state.batches[:-CACHED_BATCHES]
        state.timestamp = header.max_timestamp
        if header.is_transactional and state.first_offset is None:
            state.first_offset, state.data_epoch = header.base_offset, header.producer_epoch
        elif not header.is_transactional and state.first_offset is not None:
            message = f"producer {header.producer_id} writes outside of its open transaction from {state.first_offset}"
            self.findings.error(Kind.TRANSACTION_TORN, message, offset=header.base_offset, file=file)

    def _check_sequence(self, state: ProducerReplay, batch: BatchAt, file: str) -> None:
        header = batch.header
        if header.producer_epoch == state.producer_epoch:
            for cached in state.batches:
                if cached.first_sequence == header.base_sequence and cached.last_offset - cached.base_offset == header.last_offset_delta:
                    message = (
                        f"producer {header.producer_id} epoch {header.producer_epoch} sequence {header.base_sequence} "
                        f"is at offset {cached.base_offset} already"
                    )
                    self.findings.error(Kind.DUPLICATE_BATCH, message, offset=header.base_offset, file=file)
                    return
            if self.begin and not state.batches:
                return
            expected = increment_sequence(state.batches[-1].last_sequence, 1) if state.batches else 0
        elif header.producer_epoch > state.producer_epoch:
            expected = 0
        else:
            return  # reported as a fenced epoch
        forgotten = header.max_timestamp - state.timestamp >= EXPIRATION_MS
        if header.base_sequence != expected and not self.gaps_allowed and not forgotten:
            message = f"producer {header.producer_id} epoch {header.producer_epoch}: sequence {header.base_sequence}, {expected} expected"
            self.findings.error(Kind.SEQUENCE_GAP, message, offset=header.base_offset, file=file)

    def _control(self, batch: BatchAt, file: str) -> None:
        header = batch.header
        if header.records_count == 0 or header.producer_id < 0:
            return  # emptied by the cleaner, or a control record of KRaft
        marker = parse_end_transaction_marker(batch.view)
        if marker is None:
            self.findings.error(Kind.MARKER_DAMAGED, "a control batch that is no end marker", offset=header.base_offset, file=file)
            return
        timestamp = next(iter(iter_records(batch.view))).timestamp
        state = self.producers.get(header.producer_id)
        known = state is not None
        if state is None:
            state = self.producers[header.producer_id] = ProducerReplay(header.producer_epoch)
        placed = MarkerAt(
            header.producer_id,
            header.producer_epoch,
            marker.commit,
            marker.coordinator_epoch,
            header.base_offset,
            timestamp,
            state.first_offset,
            state.data_epoch,
        )
        if known:
            self._check_marker(state, placed, file)
        if placed.first_offset is not None and not placed.commit:
            self.aborted.append(self._aborted(placed, placed.first_offset))
        if header.producer_epoch != state.producer_epoch:
            state.producer_epoch = header.producer_epoch
            state.batches.clear()
        state.coordinator_epoch = marker.coordinator_epoch
        state.timestamp = timestamp
        state.first_offset = None
        state.last_marker = placed
        self.markers.append(placed)

    def _check_marker(self, state: ProducerReplay, marker: MarkerAt, file: str) -> None:
        who = f"marker of producer {marker.producer_id} epoch {marker.producer_epoch}"
        if marker.producer_epoch < state.producer_epoch:
            message = f"{who} after epoch {state.producer_epoch}"
            self.findings.error(Kind.PRODUCER_EPOCH, message, offset=marker.offset, file=file)
        if marker.coordinator_epoch < state.coordinator_epoch:
            message = f"{who} with coordinator epoch {marker.coordinator_epoch} after {state.coordinator_epoch}, refused if sent"
            self.findings.error(Kind.MARKER_COORDINATOR_EPOCH, message, offset=marker.offset, file=file)
        if marker.first_offset is not None:
            return
        last = state.last_marker
        if last is None or last.producer_epoch != marker.producer_epoch or self.gaps_allowed:
            return
        # version 2 gives every transaction its own epoch, so two markers of one epoch are one too many; before that the
        # second may belong to a transaction that wrote nothing here
        doubled = last.first_offset is not None and last.data_epoch < last.producer_epoch
        severity, kind = (Severity.ERROR, Kind.MARKER_DOUBLED) if doubled else (Severity.NOTE, Kind.MARKER_EMPTY)
        message = f"{who} closes nothing; the one at {last.offset} has the same epoch"
        self.findings.add(severity, kind, message, offset=marker.offset, file=file)

    def _aborted(self, marker: MarkerAt, first_offset: int) -> TxnEntry:
        """The `.txnindex` entry that an abort marker asks for (ProducerStateManager.lastStableOffset)."""
        others = [
            state.first_offset
            for producer_id, state in self.producers.items()
            if state.first_offset is not None and producer_id != marker.producer_id
        ]
        return TxnEntry(marker.producer_id, first_offset, marker.offset, min(others, default=marker.offset + 1))
