"""The shortest job: key and value as they are, one query for each output, named after it."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.spark_jobs import relay
from support.spark_double import Recorder


def test_key_and_value_as_they_are() -> None:
    records = Recorder()
    assert relay.transform(records) is records
    assert records.said == {"select": ("key", "value")}


def test_a_query_for_each_output(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[Any, ...]] = []
    records = Recorder()
    monkeypatch.setattr(relay, "read_topic", lambda _session, _options: records)
    monkeypatch.setattr(relay, "start_topic", lambda *given: started.append(given[:4]) or "query")
    monkeypatch.setattr(relay, "run_queries", lambda name, queries: (name, queries("session")) == ("relay", ["query", "query"]) and 0)
    assert relay.main(["--input", "in", "--output", "a.b c", "--output", "d", "--checkpoint", "/c"]) == 0
    assert started == [(records, "a.b c", "relay-a-b-c", "append"), (records, "d", "relay-d", "append")]
