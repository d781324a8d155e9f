"""Findings that one damage brought about, counted instead of listed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from oncelog.storage.audit.findings import Finding, Kind, Severity

_ROOTS = (Kind.BATCH_CRC, Kind.LOG_GARBAGE, Kind.TORN_TAIL)
# what a reader of the partition meets behind bytes that it cannot read
_FOLLOW = frozenset(
    {
        Kind.OFFSET_GAP,
        Kind.OFFSET_ORDER,
        Kind.SEGMENT_MISSING,
        Kind.INDEX_MISMATCH,
        Kind.TIME_INDEX_MISMATCH,
        Kind.TIME_INDEX_SHORT,
        Kind.TXN_INDEX_MISSING,
        Kind.TXN_INDEX_EXTRA,
        Kind.TXN_INDEX_LSO,
        Kind.SNAPSHOT_MISMATCH,
        Kind.SNAPSHOT_BEYOND_END,
        Kind.SEQUENCE_GAP,
        Kind.DUPLICATE_BATCH,
        Kind.PRODUCER_EPOCH,
        Kind.PRODUCER_UNKNOWN,
        Kind.MARKER_DAMAGED,
        Kind.MARKER_EMPTY,
        Kind.MARKER_MISSING,
        Kind.TRANSACTION_HANGING,
        Kind.TRANSACTION_TORN,
        Kind.LEADER_EPOCHS,
        Kind.CHECKPOINT_BEYOND_END,
        Kind.LOG_END_BELOW_HIGH_WATERMARK,
    }
)
# one damaged index file gives one of these an entry
_REPEATED = (
    Kind.INDEX_MISMATCH,
    Kind.INDEX_ORDER,
    Kind.TIME_INDEX_MISMATCH,
    Kind.TIME_INDEX_ORDER,
    Kind.TXN_INDEX_EXTRA,
    Kind.TXN_INDEX_MISSING,
)


def fold(findings: Iterable[Finding]) -> list[Finding]:
    """Each damage once: with the number of its consequences, and of its repetitions in the same file."""
    items = list(findings)
    roots = [number for number, item in enumerate(items) if item.kind in _ROOTS and item.severity is Severity.ERROR]
    first: dict[tuple[str, str, Kind], int] = {}
    kept: list[int] = []
    with_it: defaultdict[int, Counter[Kind]] = defaultdict(Counter)
    for number, item in enumerate(items):
        cause = _cause(items, roots, item) if item.kind in _FOLLOW else None
        if cause is None and item.kind in _REPEATED:
            same = first.setdefault((item.partition, item.file, item.kind), number)
            cause = same if same != number else None
        if cause is None:
            kept.append(number)
        else:
            with_it[cause][item.kind] += 1
    return [_counted(items[number], with_it[number]) for number in kept]


def _counted(item: Finding, more: Counter[Kind]) -> Finding:
    listed = ", ".join(f"{count} {kind}" for kind, count in more.most_common())
    return item._replace(message=f"{item.message}; with it {listed}") if more else item


def _cause(items: list[Finding], roots: list[int], item: Finding) -> int | None:
    """The damage of the same partition in front of it, the nearest one."""
    before = [
        number
        for number in roots
        if items[number].partition == item.partition and (item.offset is None or (items[number].offset or 0) <= item.offset)
    ]
    return max(before, key=lambda number: items[number].offset or 0, default=None)
