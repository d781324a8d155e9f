"""One partition and one batch, as API.md has them; bytes as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.console.partition_view import decoded, text
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue
from support.console_examples import EXAMPLES, misshapen
from support.console_kit import ID, Stuck, stuck_broker

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def stuck() -> Iterator[Stuck]:
    with stuck_broker() as made:
        yield made


def test_a_partition_drawn(stuck: Stuck) -> None:
    told = stuck.get("partitions/orders/0").body
    assert misshapen(told, EXAMPLES["GET /api/v1/partitions/{topic}/{n}"]) == []
    assert [(row["base_offset"], row["outcome"], row["control"]) for row in told["batches"]] == [
        (0, "committed", None),
        (1, None, "commit"),
        (2, "aborted", None),
        (3, None, "abort"),
        (4, "open", None),
        (5, "plain", None),
    ]
    assert told["aborted"] == [{"producer_id": stuck.pair[0], "first_offset": 2, "last_offset": 3}]
    (opened,) = told["open_transactions"]
    assert (opened["first_offset"], opened["transactional_id"], opened["state"]) == (4, ID, "Ongoing")
    assert (told["last_stable_offset"], told["high_watermark"], told["next_offset"]) == (4, 6, None)
    (producer,) = told["producers"]
    assert (producer["next_sequence"], len(producer["batches"]), producer["transactional_id"]) == (3, 3, ID)
    assert told["segments"] == [{"base_offset": 0, "bytes": told["bytes"], "active": True}]


def test_some_batches_and_where_to_go_on(stuck: Stuck) -> None:
    told = stuck.get("partitions/orders/0?from=1&batches=2").body
    assert ([row["base_offset"] for row in told["batches"]], told["from_offset"], told["next_offset"]) == ([1, 2], 1, 3)


def test_a_batch_and_its_records(stuck: Stuck) -> None:
    told = stuck.get("partitions/orders/0/records?offset=4").body
    assert misshapen(told, EXAMPLES["GET /api/v1/partitions/{topic}/{n}/records"]) == []
    (record,) = told["records"]
    assert (record["key"], record["value"], record["value_bytes"]) == ("k", None, 4)
    assert stuck.get("partitions/orders/0/records?offset=4&values=1").body["records"][0]["value"] == "open"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("partitions/orders/7", 404),
        ("partitions/nothing/0", 404),
        ("partitions/orders/x", 404),
        ("partitions/orders/99999999999999999999", 404),
        ("partitions/orders/0?from=-1", 400),
        ("partitions/orders/0/records", 400),
        ("partitions/orders/0/records?offset=99", 404),
        ("partitions/nothing/0/records?offset=0", 404),
    ],
)
def test_what_is_not_there(stuck: Stuck, path: str, status: int) -> None:
    assert stuck.get(path).status == status


def test_bytes_as_text() -> None:
    assert text(None) == (None, False)
    assert text("<b>é".encode()) == ("<b>é", False)
    assert text(b"\xff\x00") == ({"hex": "ff00"}, False)
    assert text("é".encode() * 5000) == ("é" * 2048, True)
    assert text(b"a" + "é".encode() * 5000) == ("a" + "é" * 2047, True)


def test_records_of_internal_topics_in_words() -> None:
    key, value = OffsetCommitKey("g", "t", 3), OffsetCommitValue(7, -1, "", 5)
    told = decoded("__consumer_offsets", key.encode(), value.encode())
    assert told is not None
    assert "group='g'" in told
    assert "offset=7" in told
    assert decoded("__consumer_offsets", key.encode(), None) == f"{key!r}: deleted"
    assert decoded("__consumer_offsets", b"\x00", b"") is None
    assert decoded("__consumer_offsets", None, b"") is None
