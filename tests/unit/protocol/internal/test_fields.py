"""Fields of internal records in both encodings; what does not fit is CorruptRecord, before anything is built."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.internal.fields import CorruptRecord, FieldReader, FieldWriter, int64_bytes

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("flexible", "expected"), [(False, "0002c3a9ffff00000002aabb"), (True, "03c3a9" + "00" + "03aabb")])
def test_lengths_of_both_encodings(flexible: bool, expected: str) -> None:
    out = FieldWriter(flexible)
    out.string("é")
    out.string(None)
    out.blob(b"\xaa\xbb")
    assert out.result().hex() == expected
    reader = FieldReader(out.result(), flexible=flexible)
    assert (reader.string(), reader.nullable_string(), reader.blob()) == ("é", None, b"\xaa\xbb")


@given(
    st.booleans(),
    st.tuples(st.integers(-128, 127), st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)),
    st.none() | st.lists(st.text(st.characters(codec="utf-8"), max_size=200), max_size=5),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200),
    st.uuids(),
)
def test_there_and_back(
    flexible: bool, numbers: tuple[int, int, int, int], texts: list[str] | None, partitions: list[int], ident: uuid.UUID
) -> None:
    out = FieldWriter(flexible)
    for write, number in zip((out.int8, out.int16, out.int32, out.int64), numbers, strict=True):
        write(number)
    out.array(texts, out.string)
    out.int32_array(partitions)
    out.uuid(ident)
    out.tags()
    reader = FieldReader(out.result(), flexible=flexible)
    assert (reader.int8(), reader.int16(), reader.int32(), reader.int64()) == numbers
    assert reader.nullable_array(reader.string) == texts
    assert reader.int32_array() == partitions
    assert reader.uuid() == ident
    assert reader.tags() == {}
    with pytest.raises(CorruptRecord):
        reader.int8()


def test_tags_are_sorted_and_old_records_have_none() -> None:
    out = FieldWriter(flexible=True)
    out.tags({3: b"\xff\xfe", 0: int64_bytes(7)})
    assert out.result().hex() == "02" + "0008" + "0000000000000007" + "0302" + "fffe"
    assert FieldReader(out.result(), flexible=True).int_tags() == {0: 7, 3: -2}
    assert FieldReader(out.result(), flexible=True).tags()[3].int16() == -2
    old = FieldWriter()
    old.tags({3: b"\xff\xfe"})
    assert old.result() == b""
    assert FieldReader(b"").tags() == {}


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("field", ["string", "blob", "array", "int32_array"])
def test_null_where_something_must_be(field: str, flexible: bool) -> None:
    data = b"\x00" if flexible else b"\xff\xff\xff\xff"
    reader = FieldReader(data, flexible=flexible)
    with pytest.raises(CorruptRecord, match="null"):
        reader.array(reader.int8) if field == "array" else getattr(reader, field)()


@pytest.mark.parametrize("field", ["nullable_array", "int32_array", "blob"])
def test_a_count_beyond_the_record_builds_nothing(field: str) -> None:
    reader = FieldReader(b"\x7f\xff\xff\xff" + bytes(8))
    asked: list[None] = []
    with pytest.raises(CorruptRecord):
        reader.nullable_array(lambda: asked.append(None)) if field == "nullable_array" else getattr(reader, field)()
    assert asked == []


def test_four_bytes_for_each_number_of_an_array() -> None:
    assert FieldReader(bytes.fromhex("00000001" + "00000007")).int32_array() == [7]
    with pytest.raises(CorruptRecord, match="does not fit"):
        FieldReader(bytes.fromhex("00000002" + "00000007")).int32_array()


@pytest.mark.parametrize("data", ["80", "ffffffffff01", "0561"])
def test_bad_flexible_lengths(data: str) -> None:
    with pytest.raises(CorruptRecord):
        FieldReader(bytes.fromhex(data), flexible=True).nullable_string()
