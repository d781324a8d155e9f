"""Record batches, and the partition that a key goes to, in the standard library alone (see `wire`).

`crc32c` and `cramjam` are used when they happen to be installed; without them the checksum is slower and the codec is gzip.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence

from oncelog.spark_jobs.sink.wire import unsigned_varint

GZIP, ZSTD = 1, 4
"""Codec numbers in a batch's attributes."""


def zigzag_varint(value: int) -> bytes:
    """Signed varint as in record fields."""
    return unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


SMALL = tuple(zigzag_varint(value) for value in range(1 << 13))
"""Varints of the lengths and deltas that nearly all records have: looking one up costs a tenth of making it."""
NULL = zigzag_varint(-1)
NO_HEADERS = zigzag_varint(0)

Header = tuple[str, bytes | None]


def varint(value: int) -> bytes:
    """`zigzag_varint` of a number that is not negative."""
    return SMALL[value] if value < len(SMALL) else zigzag_varint(value)


def encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += [varint(len(encoded)), encoded, *((NULL,) if value is None else (varint(len(value)), value))]
    return b"".join(parts)


def encode_record(offset_delta: int, key: bytes | None, value: bytes | None, headers: bytes = NO_HEADERS) -> bytes:
    """One record; all records of a batch share its timestamp, so the delta is 0."""
    keyed = NULL if key is None else varint(len(key)) + key
    valued = NULL if value is None else varint(len(value)) + value
    body = b"\0\0" + varint(offset_delta) + keyed + valued + headers
    return varint(len(body)) + body


def record_batch(records: bytes, count: int, timestamp_ms: int, producer_id: int, epoch: int, base_sequence: int, codec: int) -> bytes:
    """A transactional batch, format v2, of `count` encoded records."""
    payload = COMPRESSORS[codec](records)
    checked = (
        struct.pack(">hiqqqhii", 0x10 | codec, count - 1, timestamp_ms, timestamp_ms, producer_id, epoch, base_sequence, count) + payload
    )
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def _gzip(data: bytes) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compressor.compress(data) + compressor.flush()


def _table_crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) without the `crc32c` package: about 10 MB/s."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _crc_entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = tuple(map(_crc_entry, range(256)))
COMPRESSORS: dict[int, Callable[[bytes], bytes]] = {0: lambda data: data, GZIP: _gzip}
crc32c: Callable[[bytes], int]
try:
    from crc32c import crc32c
except ImportError:
    crc32c = _table_crc32c
try:
    import cramjam

    COMPRESSORS[ZSTD] = lambda data: bytes(cramjam.zstd.compress(data, 1))
except ImportError:
    pass

CODECS = {"none": 0, "gzip": GZIP, "zstd": ZSTD}


def codec_number(name: str | None) -> int:
    """Number of a codec by name; None picks the best one this process has. Raises ValueError."""
    if name is None:
        return max(COMPRESSORS)
    if CODECS.get(name) not in COMPRESSORS:
        raise ValueError(
            f"compression {name!r} is not to be had here; choose one of {', '.join(k for k, v in CODECS.items() if v in COMPRESSORS)}"
        )
    return CODECS[name]


def murmur2(data: bytes) -> int:
    """The 32-bit hash that Java's default partitioner takes of a key (Kafka's Utils.murmur2), as a number that is not negative."""
    length = len(data)
    hashed = 0x9747B28C ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * 0x5BD1E995 & 0xFFFFFFFF
        word = (word ^ word >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        hashed = (hashed * 0x5BD1E995 & 0xFFFFFFFF) ^ word
    if length & 3:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & 0xFFFFFFFF
    hashed = (hashed ^ hashed >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    return hashed ^ hashed >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Partition that Java's default partitioner gives to `key`."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
