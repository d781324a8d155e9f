"""The topics of a Metadata answer, v0-13, by hand: ten thousand partitions cost the generic codec an object and a call each.

v1: is_internal. v5: offline replicas. v7: leader epoch. v8: authorized operations. v9: flexible. v10: topic id. All partitions are led
by the one broker, so they differ in their index only, but for leader epochs that were brought from a Kafka cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from oncelog.protocol.hot.fields import INT16, INT32, pack_count, pack_string

FIRST_WITH_INTERNAL: Final = 1
FIRST_WITH_OFFLINE: Final = 5
FIRST_WITH_EPOCH: Final = 7
FIRST_WITH_OPERATIONS: Final = 8
FIRST_FLEXIBLE: Final = 9
FIRST_WITH_ID: Final = 10
_LAST_WITH_CLUSTER_OPERATIONS: Final = 10
_FIRST_WITH_ERROR: Final = 13
_NO_ERROR: Final = b"\0\0"
_CACHED_SHAPES: Final = 64


def pack_metadata_topic(
    version: int,
    error_code: int,
    name: str | None,
    topic_id: bytes,
    internal: bool,
    partitions: int,
    node_id: int,
    operations: int,
    leader_epochs: Mapping[int, int],
) -> bytes:
    """One element of the array of topics. `topic_id`: 16 bytes; `leader_epochs`: of the partitions whose epoch is not 0."""
    flexible = version >= FIRST_FLEXIBLE
    parts = [INT16.pack(error_code), pack_string(name, flexible)]
    if version >= FIRST_WITH_ID:
        parts.append(topic_id)
    if version >= FIRST_WITH_INTERNAL:
        parts.append(b"\1" if internal else b"\0")
    parts.append(pack_count(partitions, flexible))
    if partitions and leader_epochs:
        parts += [_partition(version, index, node_id, leader_epochs.get(index, 0)) for index in range(partitions)]
    elif partitions:
        parts.append(_partitions(_layout(version), partitions, node_id))
    if version >= FIRST_WITH_OPERATIONS:
        parts.append(INT32.pack(operations))
    if flexible:
        parts.append(b"\0")
    return b"".join(parts)


def splice_metadata_topics(version: int, answer: bytes, topics: Sequence[bytes]) -> bytes:
    """Put packed `topics` into an encoded `answer` that has none."""
    flexible = version >= FIRST_FLEXIBLE
    tail = 4 if FIRST_WITH_OPERATIONS <= version <= _LAST_WITH_CLUSTER_OPERATIONS else 2 if version >= _FIRST_WITH_ERROR else 0
    tail += flexible
    empty = pack_count(0, flexible)
    end = len(answer) - tail
    begin = end - len(empty)
    assert answer[begin:end] == empty, "the answer has topics already"
    return b"".join((answer[:begin], pack_count(len(topics), flexible), *topics, answer[end:]))


def _layout(version: int) -> int:
    """The lowest version whose partitions look the same."""
    return next((first for first in (FIRST_FLEXIBLE, FIRST_WITH_EPOCH, FIRST_WITH_OFFLINE) if version >= first), 0)


@lru_cache(_CACHED_SHAPES)
def _partitions(version: int, count: int, node_id: int) -> bytes:
    """Partitions of leader epoch 0: what stands between two indexes is always the same."""
    rest = _behind_index(version, node_id, 0)
    return _NO_ERROR + (rest + _NO_ERROR).join(map(INT32.pack, range(count))) + rest


def _partition(version: int, index: int, node_id: int, leader_epoch: int) -> bytes:
    return _NO_ERROR + INT32.pack(index) + _behind_index(version, node_id, leader_epoch)


def _behind_index(version: int, node_id: int, leader_epoch: int) -> bytes:
    flexible = version >= FIRST_FLEXIBLE
    parts = [INT32.pack(node_id)]
    if version >= FIRST_WITH_EPOCH:
        parts.append(INT32.pack(leader_epoch))
    replicas = pack_count(1, flexible) + INT32.pack(node_id)
    parts += (replicas, replicas)
    if version >= FIRST_WITH_OFFLINE:
        parts.append(pack_count(0, flexible))
    if flexible:
        parts.append(b"\0")
    return b"".join(parts)
