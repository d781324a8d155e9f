"""Settings: sources and their order, listeners, names nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.settings.load import load
from oncelog.broker.settings.sources import merge, read_properties
from oncelog.protocol.errors import KafkaError


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nlog.retention.ms=1\nauto.create.topics.enable=false\n")
    merged = merge(file, {"KAFKA_LOG_RETENTION_MS": "2", "KAFKA_NUM_PARTITIONS": "3"}, ["num.partitions=4"])
    settings = load(merged)
    assert (settings.server.num_partitions, settings.log.retention_ms, settings.server.auto_create_topics) == (4, 2, False)


def test_properties_files() -> None:
    text = "# comment\n! too\n a = 1 \nb:2\nc 3\nlong=x,\\\n   y\nempty=\n"
    assert read_properties(text) == {"a": "1", "b": "2", "c": "3", "long": "x,y", "empty": ""}
    with pytest.raises(KafkaError, match="line 1"):
        read_properties("nonsense")


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(KafkaError, match=r"num.partitons; did you mean num.partitions\?"):
        load({"num.partitons": "3"})


@pytest.mark.parametrize("value", ["x", "0", "-5"])
def test_bad_values_name_the_setting(value: str) -> None:
    with pytest.raises(KafkaError, match=r"num\.partitions"):
        load({"num.partitions": value})
