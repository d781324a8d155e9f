"""Where settings come from: files, variables, overrides, and which of them wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.settings.sources import merge, read_properties
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nlog.retention.ms=1\nauto.create.topics.enable=false\n")
    merged = merge(file, {"KAFKA_LOG_RETENTION_MS": "2", "KAFKA_NUM_PARTITIONS": "3"}, ["num.partitions=4"], {"log.roll.ms": "9"})
    assert merged == {"log.roll.ms": "9", "num.partitions": "4", "log.retention.ms": "2", "auto.create.topics.enable": "false"}


def test_each_source_stands_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\n")
    defaults = {"num.partitions": "1"}
    assert merge(None, {}, [], defaults) == {"num.partitions": "1"}
    assert merge(file, {}, [], defaults) == {"num.partitions": "2"}
    assert merge(None, {"KAFKA_NUM_PARTITIONS": "3"}, [], defaults) == {"num.partitions": "3"}
    assert defaults == {"num.partitions": "1"}


@pytest.mark.parametrize(("text", "found"), [("a=b", ("a", "b")), (" a = b=c ", ("a", "b=c")), ("a=", ("a", ""))])
def test_overrides(text: str, found: tuple[str, str]) -> None:
    assert merge(None, {}, [text]) == dict([found])


@pytest.mark.parametrize("text", ["a", "", "a:b"])
def test_overrides_without_a_value(text: str) -> None:
    with pytest.raises(KafkaError, match="--override takes key=value") as refused:
        merge(None, {}, ["good=1", text])
    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        merge(tmp_path / "none.properties", {}, [])


def test_properties_files() -> None:
    text = "# comment\n! too\n a = 1 \nb:2\nc 3\nlong=x,\\\n   y\nempty=\n"
    assert read_properties(text) == {"a": "1", "b": "2", "c": "3", "long": "x,y", "empty": ""}
    with pytest.raises(KafkaError, match="line 1"):
        read_properties("nonsense")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("\n\n", {}),
        ("a=1\na=2", {"a": "2"}),
        ("a = b = c", {"a": "b = c"}),
        ("a=http://x:1/y", {"a": "http://x:1/y"}),
        ("a=1,\\\r\n  2\r\nb=3\r\n", {"a": "1,2", "b": "3"}),
        ("a=1 # no comment", {"a": "1 # no comment"}),
    ],
)
def test_lines(text: str, found: dict[str, str]) -> None:
    assert read_properties(text) == found


def test_a_line_that_is_none_is_named_by_its_number() -> None:
    with pytest.raises(KafkaError, match="line 3 is not key=value: '=b'"):
        read_properties("# first\na=1\n=b\n")
