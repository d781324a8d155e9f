"""A topic's row and file: what is written is read, and whatever is no topic is damage."""

from __future__ import annotations

import json
import logging
import random
import uuid
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.protocol.topics import Topic
from oncelog.storage.directory.topic import (
    TOPIC_FILE,
    decode_topic,
    encode_topic,
    parse_topic_file,
    read_topic_file,
    topic_file,
    with_configs,
    with_fixed_configs,
)
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import frame

PLAIN = Topic("orders", uuid.UUID(int=2**99 + 1), 3, {"retention.ms": "-1"})
LOST = Topic("orders", uuid.UUID(int=7), 3, {}, False)
ROW = json.loads(encode_topic(PLAIN))


@pytest.mark.parametrize("topic", [PLAIN, LOST, Topic("x" * 249, uuid.UUID(int=2**128 - 1), 2**31 - 1, {"a": "b=ä\n", "c": ""})])
def test_what_is_written_is_read(topic: Topic) -> None:
    assert decode_topic(json.loads(encode_topic(topic))) == topic
    assert parse_topic_file(topic_file(topic, 17)) == (17, topic)


def test_rows_without_the_flag_have_known_configs() -> None:
    assert "configs_known" not in ROW
    assert decode_topic(ROW).configs_known


@pytest.mark.parametrize(
    "row",
    [
        7,
        None,
        [],
        "orders",
        {},
        *({key: value for key, value in ROW.items() if key != missing} for missing in ROW),
        {**ROW, "id": "AAAA"},
        {**ROW, "id": 7},
        {**ROW, "id": "ä"},
        {**ROW, "partitions": "many"},
        {**ROW, "partitions": None},
        {**ROW, "configs": 7},
        {**ROW, "configs": [1]},
    ],
)
def test_what_is_no_row_is_told_as_such(row: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode_topic(row)
    with pytest.raises(DamagedFile, match="no topic"):
        parse_topic_file(frame(TOPIC_FILE, 1, json.dumps(row).encode()))


def test_every_flipped_bit_of_the_file_is_noticed() -> None:
    data = topic_file(PLAIN, 5)
    chance = random.Random(1)
    for at in range(len(data)):
        with pytest.raises(DamagedFile):
            parse_topic_file(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
        with pytest.raises(DamagedFile):
            parse_topic_file(data[:at])


def test_a_file_in_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fs, path = OsFileSystem(), tmp_path / TOPIC_FILE
    assert read_topic_file(fs, tmp_path) is None
    path.write_bytes(topic_file(PLAIN, 5))
    assert read_topic_file(fs, tmp_path) == (5, PLAIN)
    assert caplog.records == []
    with caplog.at_level(logging.WARNING):
        path.write_bytes(b"garbage")
        assert read_topic_file(fs, tmp_path) is None
        path.unlink()
        path.mkdir()
        assert read_topic_file(fs, tmp_path) is None
    assert [record.getMessage().split(" file=")[0] for record in caplog.records] == ["damaged, taken for absent"] * 2


def test_internal_topics_have_what_they_cannot_do_without() -> None:
    for name in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        lost = Topic(name, uuid.UUID(int=7), 3, {}, False)
        assert with_fixed_configs(lost) == Topic(name, uuid.UUID(int=7), 3, {"cleanup.policy": "compact"}, True)
        own = with_configs(lost, {"cleanup.policy": "compact,delete"})
        assert with_fixed_configs(own) == own
    assert with_fixed_configs(LOST) is LOST


def test_overrides_are_known_once_they_are_set_and_belong_to_the_topic_alone() -> None:
    configs = {"a": "1"}
    topic = with_configs(LOST, configs)
    configs["a"] = "2"
    assert (topic.configs, topic.configs_known) == ({"a": "1"}, True)
