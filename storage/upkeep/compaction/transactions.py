"""Transactions as the cleaner meets them, batch by batch in offset order (Kafka's `CleanedTransactionMetadata`)."""

from __future__ import annotations

from heapq import heapify, heappop

from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.primitives import Buffer
from oncelog.protocol.records import BatchHeader
from oncelog.storage.files.txn_index import AbortedTxn


class CleanedTransactions:
    """Knows which batches were aborted and which markers still have data. `kept` are the index entries of the new segment."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        self._waiting = [(entry.first_offset, entry) for entry in aborted]
        heapify(self._waiting)
        self._aborting: dict[int, tuple[AbortedTxn, bool]] = {}  # producer id → entry, was data of it seen?
        self._committing: set[int] = set()
        self.kept: list[AbortedTxn] = []

    def can_drop(self, header: BatchHeader, batch: Buffer) -> bool:
        """A data batch: was it aborted? A marker: has its transaction no data left?"""
        self._begin_up_to(header.last_offset)
        return self._marker(header, batch) if header.is_control else self._data(header)

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            entry = heappop(self._waiting)[1]
            self._aborting.setdefault(entry.producer_id, (entry, False))

    def _data(self, header: BatchHeader) -> bool:
        if not header.is_transactional:
            return False
        known = self._aborting.get(header.producer_id)
        if known is None:
            self._committing.add(header.producer_id)
            return False
        self._aborting[header.producer_id] = (known[0], True)
        return True

    def _marker(self, header: BatchHeader, batch: Buffer) -> bool:
        marker = parse_end_transaction_marker(batch)
        if marker is not None and not marker.commit:
            entry, had_data = self._aborting.pop(header.producer_id, (None, False))
            if entry is not None and had_data:
                self.kept.append(entry)
                return False
            return True
        if header.producer_id in self._committing:
            self._committing.remove(header.producer_id)
            return False
        return True
