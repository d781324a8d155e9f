"""All codecs: what we write others read, what others write we read, and nothing unpacks without a limit."""

from __future__ import annotations

import gzip
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.compression import Codec, CompressionError, compress, decompress

DATA = b"".join(b"key-%d value-%d " % (number % 7, number) for number in range(20_000))  # several blocks of every codec


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", [b"", b"x", DATA, bytes(range(256)) * 1024], ids=["empty", "one", "text", "bytes"])
def test_there_and_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, memoryview(data)))) == data


@given(st.sampled_from(Codec), st.binary(max_size=5000))
def test_any_bytes(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize(
    ("codec", "level"), [(Codec.GZIP, 1), (Codec.GZIP, 9), (Codec.LZ4, 1), (Codec.LZ4, 12), (Codec.ZSTD, -5), (Codec.ZSTD, 19)]
)
def test_levels(codec: Codec, level: int) -> None:
    assert decompress(codec, compress(codec, DATA, level)) == DATA


def test_snappy_is_framed_as_xerial_does() -> None:
    packed = compress(Codec.SNAPPY, DATA)
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    (length,) = struct.unpack_from(">i", packed, 16)
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + length])) == DATA[: 32 * 1024]


def test_snappy_with_little_endian_versions() -> None:
    packed = bytearray(compress(Codec.SNAPPY, DATA))
    packed[8:16] = struct.pack("<ii", 1, 1)
    assert decompress(Codec.SNAPPY, packed) == DATA


def test_bare_snappy() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(DATA))) == DATA


def test_lz4_frame_is_the_one_kafka_writes() -> None:
    packed = compress(Codec.LZ4, DATA)
    assert packed[:7].hex() == "04224d18604082"
    assert packed[-4:] == bytes(4)
    assert bytes(cramjam.lz4.decompress(packed)) == DATA  # which checks the header's checksum


def test_lz4_frames_with_checksums_and_linked_blocks_are_read() -> None:
    assert decompress(Codec.LZ4, bytes(cramjam.lz4.compress(DATA))) == DATA


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4])
def test_several_frames_in_a_row(codec: Codec) -> None:
    assert decompress(codec, compress(codec, b"one ") + compress(codec, b"two")) == b"one two"


def test_gzip_of_others() -> None:
    assert decompress(Codec.GZIP, gzip.compress(DATA)) == DATA


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_bombs_stop_at_the_limit(codec: Codec) -> None:
    bomb = compress(codec, bytes(4 << 20))
    assert len(decompress(codec, bomb, max_bytes=4 << 20)) == 4 << 20
    with pytest.raises(CompressionError):
        decompress(codec, bomb, max_bytes=(4 << 20) - 1)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_damaged_data_is_refused(codec: Codec) -> None:
    whole = compress(codec, DATA)
    for damaged in (whole[: len(whole) // 2], whole[: len(whole) - 1], b"\xff" * 40):
        with pytest.raises(CompressionError):
            decompress(codec, damaged)


def test_unknown_codec() -> None:
    with pytest.raises(CompressionError, match="unknown compression type id 5"):
        decompress(5, b"")
    with pytest.raises(ValueError, match="5"):
        compress(5, b"")
