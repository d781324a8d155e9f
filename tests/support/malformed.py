"""Batches that are wrong in one way each, with the right CRC: what a produce request must not get past a broker."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from oncelog.protocol.compression import Codec, compress
from oncelog.protocol.primitives import varint
from oncelog.protocol.records import build_batch, parse_header, rewrite_crc

_FIXED = Struct(">qiibIhiqqqhii")
RECORDS = 50
NOW_MS = 1_700_000_000_000
CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


def record(
    delta: int,
    *,
    key: bytes | None = b"k",
    value: bytes | None = b"value",
    timestamp_delta: int = 0,
    attributes: int = 0,
    length: int | None = None,
    key_length: int | None = None,
    value_length: int | None = None,
    headers: bytes = b"\0",
) -> bytes:
    """One record; a length that is given stands in for the right one."""
    body = bytes((attributes,)) + varint(timestamp_delta) + varint(delta)
    for data, claimed in ((key, key_length), (value, value_length)):
        body += varint((-1 if data is None else len(data)) if claimed is None else claimed) + (data or b"")
    body += headers
    return varint(len(body) if length is None else length) + body


def batch(payload: bytes, *, count: int = RECORDS, last_delta: int | None = None, codec: int = 0, packed: bytes | None = None) -> bytes:
    """A batch around `payload`; `packed` stands in for what the codec makes of it."""
    shell = build_batch([(NOW_MS, None, b"")])
    header = parse_header(shell)
    content = packed if packed is not None else compress(codec, payload) if codec else payload
    out = bytearray(
        _FIXED.pack(
            0, 49 + len(content), 0, 2, 0, codec, count - 1 if last_delta is None else last_delta,
            NOW_MS, NOW_MS, -1, -1, -1, count,
        )
    )  # fmt: skip
    assert len(out) == len(shell) - (header.size_bytes - 61)
    out += content
    rewrite_crc(out)
    return bytes(out)


def records(count: int = RECORDS, wrong: dict[int, bytes] | None = None) -> bytes:
    """`count` good records, some of them replaced."""
    return b"".join((wrong or {}).get(at) or record(at) for at in range(count))


def _with(at: int, wrong: bytes) -> Callable[[int], bytes]:
    return lambda codec: batch(records(wrong={at: wrong}), codec=codec)


_LONG_VARINT = b"\xff\xff\xff\xff\xff\x01"  # six bytes, an int has five
_LONG_VARLONG = b"\xff" * 10 + b"\x01"
_BODY = record(7)[1:]

PAYLOADS: dict[str, Callable[[int], bytes]] = {
    "good": lambda codec: batch(records(), codec=codec),
    "one record more than said": lambda codec: batch(records(RECORDS + 1), codec=codec),
    "one record less than said": lambda codec: batch(records(RECORDS - 1), codec=codec),
    "no record at all": lambda codec: batch(b"", codec=codec),
    "300 bytes that mean nothing": lambda codec: batch(bytes(range(7, 157)) * 2, codec=codec),
    "bytes behind the last record": lambda codec: batch(records() + b"\0\1\2", codec=codec),
    "last record cut": lambda codec: batch(records()[:-3], codec=codec),
    "negative record length": _with(7, varint(-3) + _BODY),
    "record length zero": _with(7, varint(0) + _BODY),
    "record length beyond the batch": _with(7, varint(5000) + _BODY),
    "record length of six bytes": _with(7, _LONG_VARINT + _BODY),
    "record length too small by one": _with(7, record(7, length=len(_BODY) - 1)),
    "record length too large by one": _with(7, record(7, length=len(_BODY) + 1)),
    "record larger than its fields": _with(7, varint(len(_BODY) + 2) + _BODY + b"ab"),
    "timestamp delta of eleven bytes": _with(7, varint(16) + b"\0" + _LONG_VARLONG + b"\x0e\1\1\0"),
    "offset delta of six bytes": _with(7, varint(11) + b"\0\0" + _LONG_VARINT + b"\1\1\0"),
    "key length beyond the record": _with(7, record(7, key_length=30)),
    "key length beyond the batch": _with(7, record(7, key_length=100_000)),
    "value length beyond the record": _with(7, record(7, value_length=30)),
    "value length beyond the batch": _with(7, record(7, value_length=100_000)),
    "key length minus two": _with(7, record(7, key=b"", key_length=-2)),
    "value length minus five": _with(7, record(7, value=b"", value_length=-5)),
    "negative header count": _with(7, record(7, headers=varint(-1))),
    "more headers than bytes": _with(7, record(7, headers=varint(4000))),
    "null header key": _with(7, record(7, headers=varint(1) + varint(-1) + varint(-1))),
    "null header value": _with(7, record(7, headers=varint(1) + varint(1) + b"h" + varint(-1))),
    "header value beyond the record": _with(7, record(7, headers=varint(1) + varint(1) + b"h" + varint(40) + b"v")),
    "header value beyond the batch": _with(7, record(7, headers=varint(1) + varint(1) + b"h" + varint(90_000) + b"v")),
    "offset deltas all zero": lambda codec: batch(b"".join(record(0) for _ in range(RECORDS)), codec=codec),
    "offset deltas with a gap": _with(7, record(8)),
    "offset delta negative": _with(7, record(-1)),
    "record attributes set": _with(7, record(7, attributes=0x7F)),
    "timestamp far ahead": _with(7, record(7, timestamp_delta=10**13)),
    "timestamp negative": _with(7, record(7, timestamp_delta=-NOW_MS - 5)),
}  # fmt: skip

PACKED: dict[str, Callable[[int], bytes]] = {
    "bytes of no codec": lambda codec: batch(b"", codec=codec, packed=b"these are not packed at all" * 3),
    "packed data cut": lambda codec: batch(b"", codec=codec, packed=compress(codec, records())[:-7]),
    "packed data with a tail": lambda codec: batch(b"", codec=codec, packed=compress(codec, records()) + b"tail!"),
    "no packed data": lambda codec: batch(b"", codec=codec, packed=b""),
}
