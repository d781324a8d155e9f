"""The body of a ShareFetch answer by hand, v1-2, because records are passed on as they are, from memory or a file."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from oncelog.protocol.primitives import Piece, unsigned_varint

_HEAD: Final = Struct(">ihBi")  # throttle_time_ms, error_code, no error_message, acquisition_lock_timeout_ms
_ERROR: Final = Struct(">ih")  # partition_index, error_code
_INT16: Final = Struct(">h")
_LEADER: Final = Struct(">iiB")  # leader_id, leader_epoch, no tags
_ACQUIRED: Final = Struct(">qqhB")  # first_offset, last_offset, delivery_count, no tags
_NODE: Final = Struct(">i")
_COPIED_BYTES: Final = 512


class ShareFetchPartitionData(NamedTuple):
    """The answer for one partition. `acquired`: (first offset, last offset, delivery count)."""

    index: int  # type: ignore[assignment]  # over tuple.index: Kafka's name counts
    error_code: int = 0
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    leader_id: int = 0
    leader_epoch: int = 0
    records: Piece = b""
    acquired: Sequence[tuple[int, int, int]] = ()


def pack_share_fetch_response(
    error_code: int,
    lock_timeout_ms: int,
    topics: Sequence[tuple[bytes, Sequence[ShareFetchPartitionData]]],
    node: tuple[int, str, int] | None = None,
) -> list[Piece]:
    """The answer as buffers for a gathering write. `topics`: by topic id; `node`: (id, host, port) of the leader, if needed."""
    buffers: list[Piece] = []
    out = bytearray(_HEAD.pack(0, error_code, 0, lock_timeout_ms))
    out += unsigned_varint(len(topics) + 1)
    for topic_id, partitions in topics:
        out += topic_id
        out += unsigned_varint(len(partitions) + 1)
        for partition in partitions:
            _pack_head(out, partition)
            records = partition.records
            if len(records) <= _COPIED_BYTES and isinstance(records, bytes | bytearray | memoryview):
                out += records
            else:
                buffers += (out, records)
                out = bytearray()
            out += unsigned_varint(len(partition.acquired) + 1)
            for acquired in partition.acquired:
                out += _ACQUIRED.pack(*acquired, 0)
            out.append(0)
        out.append(0)
    if node is None:
        out += b"\x01"
    else:
        id, host, port = node
        out += b"\x02" + _NODE.pack(id) + _string(host) + _NODE.pack(port) + b"\x00\x00"
    out.append(0)
    buffers.append(out)
    return buffers


def _pack_head(out: bytearray, partition: ShareFetchPartitionData) -> None:
    """Everything of a partition up to the length of its records."""
    out += _ERROR.pack(partition.index, partition.error_code)
    out.append(0)  # no error_message
    out += _INT16.pack(partition.acknowledge_error_code)
    out += _string(partition.acknowledge_error_message)
    out += _LEADER.pack(partition.leader_id, partition.leader_epoch, 0)
    out += unsigned_varint(len(partition.records) + 1)


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    encoded = text.encode()
    return unsigned_varint(len(encoded) + 1) + encoded
