"""The codecs of record batches, by number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.

* snappy comes in the framing of the xerial library: `82 "SNAPPY" 00`, version int32, compatible int32, then blocks of length int32 and raw
  snappy of up to 32 KiB. Some writers store the two version numbers little-endian, so nobody may check them; others write bare raw snappy.
* lz4 is the frame format with independent 64 KiB blocks, as Kafka's own writer makes it.
* zstd and gzip data may consist of several frames in a row.

Unpacking is bounded: a few kilobytes can claim to be gigabytes. What may become large is unpacked into pages of its own, taken as they are
written and given back to the system as soon as nobody looks at them.
"""

from __future__ import annotations

import functools
import mmap
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from struct import Struct
from typing import Any, Final

from oncelog.protocol.primitives import Buffer

MAX_DECOMPRESSED_BYTES: Final = 1 << 28

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_LENGTH = Struct(">i")

# Magic; version 1, blocks independent, no checksums, no content size; blocks of up to 64 KiB; the checksum of these two bytes.
_LZ4_HEADER: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_END: Final = bytes(4)
_LZ4_BLOCK_BYTES: Final = 64 * 1024
_LZ4_STORED: Final = 1 << 31
_LZ4_LENGTH = Struct("<I")

_FIRST_ROOM_BYTES: Final = 64 * 1024
_GZIP_PIECE_BYTES: Final = 1 << 20
_OUT_OF_ROOM: Final = "whole buffer"  # in cramjam's message when the given room is too small


@functools.cache
def _native() -> Any:
    """cramjam, loaded by the first codec that needs it: a start does without."""
    import cramjam

    return cramjam


class Codec(IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CompressionError(ValueError):
    """Data that its codec cannot unpack."""


class UnpacksTooLarge(CompressionError):
    """Data that unpacks to more than is allowed."""


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`data` packed by `codec`; `level` as in Kafka's compression.<codec>.level, None for the default.

    Raises ValueError for an unknown codec.
    """
    return _COMPRESS[Codec(codec)](data, level)


def decompress(codec: int, data: Buffer, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
    """The inverse. Raises CompressionError, for an unknown codec too; UnpacksTooLarge beyond `max_bytes`, which are never exceeded."""
    unpack = _DECOMPRESS.get(codec)
    if unpack is None:
        raise CompressionError(f"unknown compression type id {codec}")
    return unpack(data, max_bytes)


def _too_large(max_bytes: int) -> UnpacksTooLarge:
    return UnpacksTooLarge(f"unpacks to more than {max_bytes} bytes")


@contextmanager
def _room(size: int) -> Iterator[memoryview]:
    """Room for `size` bytes, which costs what is written to it, and is given back at once after an error, whoever keeps that."""
    if size <= _FIRST_ROOM_BYTES:
        yield memoryview(bytearray(size))
        return
    pages = mmap.mmap(-1, size)
    out = memoryview(pages)
    try:
        yield out
    except BaseException:
        out.release()
        pages.close()
        raise


def _gzip(data: Buffer, level: int | None) -> bytes:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _gunzip(data: Buffer, max_bytes: int) -> Buffer:
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        piece = unpacker.decompress(data, min(max_bytes, _FIRST_ROOM_BYTES) + 1)
        if unpacker.eof and not unpacker.unused_data and len(piece) <= max_bytes:
            return piece
        return _gunzip_more(unpacker, piece, max_bytes)
    except zlib.error as error:
        raise CompressionError(str(error)) from error


def _gunzip_more(unpacker: Any, piece: bytes, max_bytes: int) -> Buffer:
    """What `unpacker` holds behind `piece`, and the members that follow, all in one. Raises zlib.error and CompressionError."""
    size = 0
    with _room(max_bytes) as out:
        while True:
            if size + len(piece) > max_bytes:
                raise _too_large(max_bytes)
            out[size : size + len(piece)] = piece
            size += len(piece)
            rest = unpacker.unconsumed_tail
            if unpacker.eof:
                rest = unpacker.unused_data
                if not rest:
                    return out[:size]
                unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
            piece = unpacker.decompress(rest, min(max_bytes - size + 1, _GZIP_PIECE_BYTES))
            if not (piece or rest or unpacker.eof):
                raise CompressionError("gzip data is cut short")


def _snappy(data: Buffer, level: int | None) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(_native().snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        out += _LENGTH.pack(len(block))
        out += block
    return bytes(out)


def _unsnappy(data: Buffer, max_bytes: int) -> Buffer:
    view = memoryview(data)
    if not view:
        raise CompressionError("no snappy data")
    blocks = [view] if bytes(view[:8]) != _XERIAL_MAGIC else list(_xerial_blocks(view))
    native = _native()
    try:
        sizes = [native.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > max_bytes:
            raise _too_large(max_bytes)
        with _room(sum(sizes)) as out:
            pos = 0
            for block, size in zip(blocks, sizes, strict=True):
                if size:
                    with out[pos : pos + size] as place:
                        native.snappy.decompress_raw_into(block, place)
                pos += size
            return out
    except native.DecompressionError as error:
        raise CompressionError(str(error)) from error


def _xerial_blocks(view: memoryview) -> Iterator[memoryview]:
    pos = len(_XERIAL_HEADER)
    while pos < len(view):
        if pos + 4 > len(view):
            raise CompressionError("snappy block length is cut short")
        (length,) = _LENGTH.unpack_from(view, pos)
        pos += 4
        if not 0 <= length <= len(view) - pos:
            raise CompressionError(f"snappy block of {length} bytes does not fit")
        yield view[pos : pos + length]
        pos += length


def _lz4(data: Buffer, level: int | None) -> bytes:
    """A frame as Kafka's `Lz4BlockOutputStream` makes it; a block that does not shrink is stored, marked by the top bit of its length."""
    out = bytearray(_LZ4_HEADER)
    view = memoryview(data)
    how = {"mode": "default"} if level is None else {"mode": "high_compression", "compression": level}
    for start in range(0, len(view), _LZ4_BLOCK_BYTES):
        block = view[start : start + _LZ4_BLOCK_BYTES]
        packed = bytes(_native().lz4.compress_block(block, store_size=False, **how))
        if len(packed) < len(block):
            out += _LZ4_LENGTH.pack(len(packed)) + packed
        else:
            out += _LZ4_LENGTH.pack(len(block) | _LZ4_STORED)
            out += block
    return bytes(out + _LZ4_END)


def _unlz4(data: Buffer, max_bytes: int) -> Buffer:
    return _unpack_into_limit(_native().lz4.decompress_into, data, max_bytes)


def _zstd(data: Buffer, level: int | None) -> bytes:
    return bytes(_native().zstd.compress(data, level=3 if level is None else level))


def _unzstd(data: Buffer, max_bytes: int) -> Buffer:
    if not data:
        return b""  # no frame is no content; other codecs want one
    return _unpack_into_limit(_native().zstd.decompress_into, data, max_bytes)


def _unpack_into_limit(unpack: Callable[[Buffer, Buffer], int], data: Buffer, max_bytes: int) -> Buffer:
    """Neither format says reliably how large its content is: offer a little room, then all there may be."""
    for size in (min(max_bytes, _FIRST_ROOM_BYTES), max_bytes):
        try:
            with _room(size) as out:
                return out[: unpack(data, out)]
        except _native().DecompressionError as error:
            if _OUT_OF_ROOM not in str(error):
                raise CompressionError(str(error)) from error
    raise _too_large(max_bytes)


_COMPRESS: Final[dict[Codec, Callable[[Buffer, int | None], bytes]]] = {
    Codec.NONE: lambda data, level: bytes(data),
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
_DECOMPRESS: Final[dict[int, Callable[[Buffer, int], Buffer]]] = {
    Codec.NONE: lambda data, max_bytes: data,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
