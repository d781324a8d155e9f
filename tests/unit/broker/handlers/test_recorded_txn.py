"""The transaction handlers against recordings of Apache Kafka 4.3.0: every case that needs nothing but them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from oncelog.broker.context import RequestContext
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.broker.net.told_causes import Causes
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.primitives import partition_for
from support.txn_bench import Bench

CASES = Path(__file__).parents[3] / "golden" / "txn"
HANDLERS = {
    22: "api_22_init_producer_id",
    24: "api_24_add_partitions_to_txn",
    25: "api_25_add_offsets_to_txn",
    26: "api_26_end_txn",
    27: "api_27_write_txn_markers",
    61: "api_61_describe_producers",
    65: "api_65_describe_transactions",
    66: "api_66_list_transactions",
}
# what happened between the recorded steps is not in the recording: epochs exhausted, timeouts, several principals, other cases' ids
LEFT_OUT = {"12", "13", "16", "26", "28", "35", "44", "45", "46", "48", "72", "92"}


def replayable() -> list[Any]:
    cases = [json.loads(path.read_text("utf-8")) for path in sorted(CASES.glob("case-*.json"))]
    return [
        pytest.param(case, id=f"case-{case['case']}")
        for case in cases
        if case["case"] not in LEFT_OUT and all(step["key"] in HANDLERS for step in case["steps"]) and _starts_fresh(case)
    ]


def _starts_fresh(case: dict[str, Any]) -> bool:
    """No producer id is used that no recorded InitProducerId gave out."""
    given = {step["response"].get("producer_id") for step in case["steps"] if step["key"] == 22}
    used = {step["request"].get("producer_id", -1) for step in case["steps"] if step["key"] == 26}
    epochs = [step["request"].get("producer_epoch", 0) for step in case["steps"]]
    return used <= given and max(epochs, default=0) < 30_000


def renamed(value: Any, names: dict[int, int]) -> Any:
    """`value` with our producer ids in place of the recorded ones."""
    if isinstance(value, dict):
        return {key: names.get(each, each) if key.endswith("producer_id") else renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    return value


def build(kind: Any, fields: dict[str, Any]) -> Any:
    """A message of the class `kind` from recorded fields."""
    nested = {"topics": "Topic", "v3_and_below_topics": "AddPartitionsToTxnTopic", "transactions": "AddPartitionsToTxnTransaction"}
    made = {}
    for name, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            classes = [each for each in vars(kind).values() if isinstance(each, type)]
            inner = next((each for each in classes if each.__name__ == nested.get(name)), classes[0])
            value = [build(inner, each) for each in value]
        made[name] = value
    return kind(**made)


def plain(message: Any) -> Any:
    if isinstance(message, list):
        return [plain(each) for each in message]
    if hasattr(type(message), "__slots__") and not isinstance(message, int | str | bytes | type(None)):
        return {name: plain(getattr(message, name)) for name in type(message).__slots__ if not name.startswith("_")}
    return message


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        drop = ("transaction_start_time_ms", "last_timestamp", "coordinator_epoch", "error_message")
        return {key: without_times(each) for key, each in value.items() if key not in drop}
    if isinstance(value, list):  # the order of partition numbers is that of a Java hash set
        return sorted(value) if value and all(isinstance(each, int) for each in value) else [without_times(each) for each in value]
    return value


@pytest.mark.parametrize("case", replayable())
def test_recorded_case(case: dict[str, Any]) -> None:
    bench = Bench()
    names: dict[int, int] = {}
    for step in case["steps"]:
        _make_topics(bench, step["request"])
        key, version = step["key"], step["version"]
        request = build(getattr(messages, f"{ApiKey(key).schema_name}Request"), renamed(step["request"], names))
        request = messages.decode_request(key, version, messages.encode_request(key, version, request))
        answer = _handle(bench, key, version, request)
        answer = messages.decode_response(key, version, messages.encode_response(key, version, answer))
        if key == 22 and step["response"]["producer_id"] >= 0:
            names[step["response"]["producer_id"]] = answer.producer_id
        got, expected = without_times(plain(answer)), without_times(renamed(step["response"], names))
        assert {name: got[name] for name in expected} == expected, f"step {step['n']}"
        bench.advance(1)


def _handle(bench: Bench, key: int, version: int, request: Any) -> Any:
    groups = SimpleNamespace(partition_for=lambda group: partition_for(group, 50))
    broker = SimpleNamespace(
        transactions=bench.service, logs=bench.logs, groups=groups, authorizer=None, errors=ErrorCounts(), causes=Causes()
    )
    connection = SimpleNamespace(principal="User:ANONYMOUS", client_host="127.0.0.1")
    ctx = RequestContext(cast(Any, broker), cast(Any, connection), version, "test", bench.clock.now_ms)
    return importlib.import_module(f"oncelog.broker.handlers.{HANDLERS[key]}").handle(request, ctx)


def _make_topics(bench: Bench, request: Any) -> None:
    if isinstance(request, dict):
        for name, value in request.items():
            if name == "name" and isinstance(value, str) and value.startswith("t-") and bench.logs.topics.get(value) is None:
                bench.logs.create_topic(value, 3)
            _make_topics(bench, value)
    elif isinstance(request, list):
        for each in request:
            _make_topics(bench, each)
