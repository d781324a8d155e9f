"""group.initial.rebalance.delay.ms: without it nobody waits; with it, members that come meanwhile share a generation."""

from __future__ import annotations

import time
from pathlib import Path

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import BrokerProcess
from support.simbroker import build
from support.wire import Connection

DELAY_MS = 700


def join(connection: Connection, group: str) -> int:
    """Sent, not waited for; its correlation id."""
    request = build(
        messages.JoinGroupRequest,
        {
            "group_id": group,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
    )
    return connection.send(ApiKey.JOIN_GROUP, 3, bytes(messages.encode_request(ApiKey.JOIN_GROUP, 3, request)))


def test_the_first_member_is_answered_at_once(bootstrap: str, name: str) -> None:
    with Connection(bootstrap) as member:
        member.request(ApiKey.FIND_COORDINATOR, 0, {"key": name})
        started = time.monotonic()
        answer = member.receive(ApiKey.JOIN_GROUP, 3, join(member, name))
        assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)
        assert time.monotonic() - started < 0.5


def test_members_that_come_within_the_delay_share_a_generation(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"group.initial.rebalance.delay.ms": str(DELAY_MS)}) as broker:
        with Connection(broker.bootstrap) as first, Connection(broker.bootstrap) as second:
            started = time.monotonic()
            asked = [(member, join(member, "g")) for member in (first, second)]
            answers = [member.receive(ApiKey.JOIN_GROUP, 3, correlation_id) for member, correlation_id in asked]
            assert time.monotonic() - started > DELAY_MS / 1000
        assert [answer.generation_id for answer in answers] == [1, 1]
        assert sorted(len(answer.members) for answer in answers) == [0, 2]
