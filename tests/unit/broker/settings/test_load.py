"""From values to settings: names nobody knows, values that are none."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.load import load
from oncelog.protocol.errors import KafkaError


def test_values_are_of_their_type() -> None:
    settings = load({"num.partitions": "4", "log.retention.ms": "2", "auto.create.topics.enable": "false"})
    assert (settings.server.num_partitions, settings.log.retention_ms, settings.server.auto_create_topics) == (4, 2, False)


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(KafkaError, match=r"num.partitons; did you mean num.partitions\?"):
        load({"num.partitons": "3"})


@pytest.mark.parametrize("value", ["x", "0", "-5"])
def test_bad_values_name_the_setting(value: str) -> None:
    with pytest.raises(KafkaError, match=r"num\.partitions"):
        load({"num.partitions": value})
