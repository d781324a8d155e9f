"""Mistakes that requests show, with whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.commands.client.wire import request_header
from oncelog.broker.console.lint_requests import RequestLint
from oncelog.broker.console.lint_rules import NO_METADATA, OLD_VERSION, OUTSIDE, READ_UNCOMMITTED, SHARED_ID, Findings
from oncelog.protocol import messages
from oncelog.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from support.console_kit import ID, stuck_broker
from support.simbroker import build

pytestmark = pytest.mark.unit
TXN = {"transactional_id": "t", "producer_id": 7, "producer_epoch": 0}


class Lint:
    def __init__(self, *, members: bool = True) -> None:
        self.findings = Findings()
        self._lint = RequestLint(self.findings, lambda _group: members, lambda topic: "orders" if topic == "orders" else None)

    def see(self, at: int, client: str, key: ApiKey, version: int, **fields: Any) -> None:
        body = messages.encode_request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))
        frame = request_header(key, version, 1, client, version >= FIRST_FLEXIBLE_VERSION[key]) + bytes(body)
        self._lint.observe(at, "10.0.0.1", frame)

    def init(self, at: int, client: str) -> None:
        self.see(at, client, ApiKey.INIT_PRODUCER_ID, 4, transactional_id="t", transaction_timeout_ms=1, producer_id=-1, producer_epoch=-1)

    def commit(self, at: int, client: str) -> None:
        self.see(at, client, ApiKey.OFFSET_COMMIT, 7, group_id="g", generation_id_or_member_epoch=1, member_id="m", topics=[])

    def rules(self) -> set[tuple[str, str | None]]:
        return {(row["rule"], row["client_id"]) for row in self.findings.rows()}


def test_two_that_fence_each_other() -> None:
    lint = Lint()
    for at, client in ((1, "a"), (2, "b"), (3, "b")):
        lint.init(at, client)
    assert lint.rules() == set()  # b took over
    lint.init(4, "a")
    assert lint.rules() == {(SHARED_ID, "a")}


def test_taking_turns_over_days_is_none() -> None:
    lint = Lint()
    for day, client in enumerate(("a", "b", "a")):
        lint.init(day * 86_400_000, client)
    assert lint.rules() == set()


@pytest.mark.parametrize(("version", "found"), [(4, {(OLD_VERSION, "a")}), (5, set())])
def test_an_old_protocol(version: int, found: set[tuple[str, str]]) -> None:
    lint = Lint()
    lint.see(1, "a", ApiKey.END_TXN, version, **TXN, committed=True)
    assert lint.rules() == found


@pytest.mark.parametrize(("member", "members", "found"), [("", True, {(NO_METADATA, "a")}), ("m", True, set()), ("", False, set())])
def test_group_metadata(member: str, members: bool, found: set[tuple[str, str]]) -> None:
    lint = Lint(members=members)
    generation = 3 if member else -1
    lint.see(1, "a", ApiKey.TXN_OFFSET_COMMIT, 3, **TXN, group_id="g", member_id=member, generation_id=generation, topics=[])
    assert lint.rules() == found


def test_offsets_outside_of_transactions() -> None:
    lint, right = Lint(), Lint()
    for at in range(3):
        lint.see(at, "a", ApiKey.END_TXN, 5, **TXN, committed=True)
        lint.commit(at, "a")
        lint.commit(at, "b")
    assert lint.rules() == {(OUTSIDE, "a")}
    for at in range(3):
        right.see(at, "a", ApiKey.TXN_OFFSET_COMMIT, 3, **TXN, group_id="g", member_id="m", generation_id=1, topics=[])
        right.see(at, "a", ApiKey.END_TXN, 5, **TXN, committed=True)
        right.commit(at, "a")
    assert right.rules() == set()


@pytest.mark.parametrize(("level", "topic", "found"), [(0, "orders", {(READ_UNCOMMITTED, "a")}), (1, "orders", set()), (0, "plain", set())])
def test_who_reads_uncommitted(level: int, topic: str, found: set[tuple[str, str]]) -> None:
    lint = Lint()
    topics = [{"topic": topic, "partitions": []}]
    lint.see(1, "a", ApiKey.FETCH, 11, replica_id=-1, isolation_level=level, topics=topics, forgotten_topics_data=[], rack_id="")
    assert lint.rules() == found


def test_what_cannot_be_read() -> None:
    lint = Lint()
    for frame in (b"", b"\x00", b"\x00\x16\x00\x04junk", b"\x7f\xff" * 20):
        lint._lint.observe(1, "h", frame)
    assert lint.rules() == set()


def test_over_http_while_it_happens() -> None:
    with stuck_broker() as stuck:
        stuck.client.ask(
            ApiKey.FETCH,
            11,
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1000,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]}],
            forgotten_topics_data=[],
            rack_id="",
        )
        rows = {row["rule"]: row for row in stuck.get("lint").body}
        assert {OLD_VERSION, READ_UNCOMMITTED} <= rows.keys()
        assert (rows[READ_UNCOMMITTED]["subject"], rows[READ_UNCOMMITTED]["client_id"]) == ("orders", "wire")
        assert f"transactions of {ID}" in rows[OLD_VERSION]["evidence"] or ID in rows[OLD_VERSION]["evidence"]
