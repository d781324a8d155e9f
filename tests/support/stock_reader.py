"""How a stock consumer reads committed records: by the list of aborted transactions and by the ABORT markers, whatever stands between.

Java's `CompletedFetch` and librdkafka do the same: the producer of a listed transaction is dropped from its first offset on, until an ABORT
marker of that producer comes; a COMMIT marker changes nothing. So a marker that is not there drops what the producer wrote afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.names import IsolationLevel
from oncelog.protocol.records import HEADER_SIZE, BatchHeader, CorruptBatch, check_crc, iter_records, parse_header
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log.log import Log


def batches(raw: bytes) -> Iterator[tuple[BatchHeader, bytes]]:
    """The whole batches in front of the first that is not."""
    position = 0
    while position + HEADER_SIZE <= len(raw):
        header = parse_header(raw, position)
        batch = raw[position : position + header.size_bytes]
        if header.size_bytes < HEADER_SIZE or len(batch) < header.size_bytes:
            return
        yield header, batch
        position += header.size_bytes


def shown(raw: bytes, aborted: Iterable[AbortedTxn] | None) -> Iterator[tuple[BatchHeader, bytes]]:
    """The data batches of one answer that a client hands out; all of them without a list."""
    waiting = sorted(aborted or (), key=lambda entry: entry.first_offset, reverse=True)
    dropped: set[int] = set()
    for header, batch in batches(raw):
        if header.magic != 2 or not check_crc(batch):
            continue
        while waiting and waiting[-1].first_offset <= header.last_offset:
            dropped.add(waiting.pop().producer_id)
        if header.is_control:
            if _is_abort(batch):
                dropped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropped):
            yield header, batch


def _is_abort(batch: bytes) -> bool:
    try:
        marker = parse_end_transaction_marker(batch)
    except CorruptBatch:
        return False
    return marker is not None and not marker.commit


def read_values(log: Log, *, committed: bool, max_bytes: int) -> list[bytes]:
    """Values from the log start on; where an answer brings nothing it stays."""
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    offset, found = log.log_start_offset, list[bytes]()
    while offset < log.readable_end(isolation):
        data = log.read(offset, max_bytes, isolation=isolation, min_one_message=True)
        raw = bytes(data.records)
        for header, batch in shown(raw, data.aborted):
            if header.last_offset >= offset:
                found += [bytes(record.value or b"") for record in iter_records(batch) if record.offset >= log.log_start_offset]
        behind = max((header.next_offset for header, _ in batches(raw)), default=offset)
        if behind <= offset:
            break
        offset = behind
    return found
