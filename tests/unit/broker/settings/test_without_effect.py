"""Settings of Apache Kafka that are accepted and do nothing here."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.settings.load import load
from oncelog.protocol.errors import KafkaError


def test_kafkas_names_without_effect_are_accepted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="oncelog"):
        load({"process.roles": "broker,controller", "controller.quorum.voters": "1@localhost:9093"})
    assert sum("without effect" in record.message for record in caplog.records) == 1


NOT_TAKEN = {"config.providers"}  # what it would look up would stay as it is written


def test_every_setting_of_kafka_is_known() -> None:
    names = (Path(__file__).parents[3] / "golden" / "settings_4.3.0.txt").read_text().split()
    assert len(names) == 360
    assert {name for name in names if is_unknown(name)} == NOT_TAKEN


def is_unknown(name: str) -> bool:
    try:
        load({name: "1"})
    except KafkaError as error:
        return error.message.startswith("Unknown setting")
    return False
