"""Mistakes that logs show, planted on a broker and looked for over the wire, as on any Kafka."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.console.lint_logs import _mixed, _repeated, _shared
from oncelog.broker.console.lint_rules import AUTO_COMMIT, OLD_VERSION, OUTSIDE, READ_UNCOMMITTED, RETRIES, SHARED_ID, TOO_LONG, Findings
from oncelog.broker.console.model import Partition
from oncelog.broker.console.wire import WireSource
from oncelog.broker.testkit import Broker
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.console_kit import FIRST, ID, SECOND, Stuck, make_stuck, stuck_broker
from support.txn_client import TV0, Client, one_record

pytestmark = pytest.mark.unit


def commit(client: Client, group: str, place: TopicPartition, offset: int) -> None:
    """Outside of any transaction."""
    topics = [
        {"name": place.topic, "partitions": [{"partition_index": place.partition, "committed_offset": offset, "committed_metadata": ""}]}
    ]
    answer = client.ask(ApiKey.OFFSET_COMMIT, 5, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    assert answer.topics[0].partitions[0].error_code == 0


def linted(bootstrap: str, now_ms: int | None = None) -> dict[str, dict[str, Any]]:
    """By rule."""

    async def run() -> Any:
        source = WireSource(Cluster(bootstrap), time_ms=lambda: now_ms) if now_ms else WireSource(Cluster(bootstrap))
        try:
            return await source.lint()
        finally:
            await source.close()

    return {row["rule"]: row for row in asyncio.run(run())}


def test_a_broker_without_mistakes() -> None:
    with Broker() as broker:
        assert linted(broker.bootstrap) == {}


def test_planted_mistakes_are_named() -> None:
    with Broker(clock="virtual") as broker, Client(broker.bootstrap) as client:
        pair = make_stuck(client)
        commit(client, "past-it", FIRST, 6)
        commit(client, "billing", SECOND, 0)
        batch = one_record((-1, -1), -1, b"twice", is_transactional=False)
        for _ in range(2):
            assert client.send(TV0, None, FIRST, batch)[0] is ErrorCode.NONE
        for _ in range(3):
            client.init("shared")
        found = linted(broker.bootstrap, broker.clock.now_ms() + 800_000)
        assert found[READ_UNCOMMITTED]["subject"] == "past-it"
        assert found[OUTSIDE]["evidence"] == "billing committed offsets 1 times within transactions and 1 times outside."
        assert "at offsets 6 and 7" in found[RETRIES]["evidence"]
        assert found[SHARED_ID]["subject"] == "shared"
        assert (found[TOO_LONG]["subject"], "13 min" in found[TOO_LONG]["evidence"]) == (ID, True)
        assert set(found) == {READ_UNCOMMITTED, OUTSIDE, RETRIES, SHARED_ID, TOO_LONG}
        assert client.end(TV0, ID, pair, True)[0] is ErrorCode.NONE


def test_a_timer_is_told_from_code() -> None:
    from oncelog.broker.console.lint_logs import _Commit

    findings = Findings()
    within = [_Commit(at, True) for at in (100, 900, 2_000)]
    _mixed("timer", within + [_Commit(5_000 * n + n, False) for n in range(5)], findings)
    _mixed("code", within + [_Commit(at, False) for at in (3_000, 3_010, 9_000, 9_500)], findings)
    _mixed("clean", within, findings)
    _mixed("plain", [_Commit(5_000 * n, False) for n in range(5)], findings)
    assert {(row["rule"], row["subject"]) for row in findings.rows()} == {(AUTO_COMMIT, "timer"), (OUTSIDE, "code")}


def test_restarts_are_no_second_client() -> None:
    findings = Findings()
    _shared("deployed daily", [(day * 86_400_000, day) for day in range(5)], findings)
    assert findings.rows() == []


def test_different_batches_are_no_retries() -> None:
    findings, seen = Findings(), {}
    for crc, offset in ((1, 0), (2, 1), (3, 2)):
        _repeated(Partition(FIRST, 0, 3, 3), crc, offset, 5, seen, findings)
    assert findings.rows() == []


def test_embedded_knows_the_version_too() -> None:
    with stuck_broker() as stuck:
        rules = {row["rule"]: row for row in _embedded(stuck)}
        assert rules[OLD_VERSION]["subject"] == ID
        assert rules[OLD_VERSION]["client_id"] == "wire"


def _embedded(stuck: Stuck) -> Any:
    return stuck.get("lint").body
