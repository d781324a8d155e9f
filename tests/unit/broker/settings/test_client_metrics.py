"""Subscriptions of client metrics: intervals, and which clients are meant."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.client_metrics import check_client_metrics, client_metrics_options
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"interval.ms": "100"},
        {"interval.ms": "3600000"},
        {"metrics": ""},
        {"metrics": "org.apache.kafka.,*"},
        {"match": ""},
        {"match": "client_id=app-.*"},
        {"match": "client_software_name = .*java , client_source_port=90[0-9]{2}"},
        {"match": "client_instance_id=b69cc35a,client_software_version=4,client_source_address=10\\..*"},
    ],
    ids=str,
)
def test_taken(values: dict[str, str]) -> None:
    check_client_metrics(values)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"no.such": "1"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "99"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "3600001"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "-1"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "often"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id="}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id=a=b"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id=("}, ErrorCode.INVALID_CONFIG),
        ({"match": "id=a"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id=a,planet=b"}, ErrorCode.INVALID_CONFIG),
    ],
    ids=str,
)
def test_refused(values: dict[str, str], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_client_metrics({"metrics": "*", **values})
    assert refused.value.code is code


def test_all_are_altered_while_the_broker_runs() -> None:
    options = client_metrics_options()
    assert options.keys() == {"interval.ms", "match", "metrics"}
    assert all(declared.dynamic for declared in options.values())
    assert options["interval.ms"].default == 300_000
