"""group.initial.rebalance.delay.ms: without it nobody waits; with it, members that come meanwhile share a generation."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import BrokerProcess
from support.simbroker import build
from support.wire import Connection

DELAY_MS = 700
SESSION_MS = 10_000
MEMBER_ID_REQUIRED = 79


def join(connection: Connection, group: str, version: int = 3) -> int:
    """Sent, not waited for; its correlation id."""
    request = build(
        messages.JoinGroupRequest,
        {
            "group_id": group,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
    )
    return connection.send(ApiKey.JOIN_GROUP, version, bytes(messages.encode_request(ApiKey.JOIN_GROUP, version, request)))


def test_the_first_member_is_answered_at_once(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"group.initial.rebalance.delay.ms": "0"}) as broker, Connection(broker.bootstrap) as member:
        member.request(ApiKey.FIND_COORDINATOR, 0, {"key": "g"})
        at_once = Patience(0.5)
        answer = member.receive(ApiKey.JOIN_GROUP, 3, join(member, "g"))
        assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)
        assert not at_once.over


@pytest.mark.parametrize("delay_ms", [0, DELAY_MS])
def test_a_member_that_went_away_before_it_joined_holds_nobody(
    request: pytest.FixtureRequest, tmp_path: Path, name: str, delay_ms: int
) -> None:
    with ExitStack() as stack:
        given = request.config.getoption("--bootstrap")
        bootstrap = (
            given or stack.enter_context(BrokerProcess(tmp_path / "data", {"group.initial.rebalance.delay.ms": str(delay_ms)})).bootstrap
        )
        member = stack.enter_context(Connection(bootstrap))
        soon = Patience(SESSION_MS / 2000)
        assert member.receive(ApiKey.JOIN_GROUP, 4, join(member, name, 4)).error_code == MEMBER_ID_REQUIRED
        assert member.receive(ApiKey.JOIN_GROUP, 3, join(member, name)).error_code == 0
        assert not soon.over


def test_members_that_come_within_the_delay_share_a_generation(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"group.initial.rebalance.delay.ms": str(DELAY_MS)}) as broker:
        with Connection(broker.bootstrap) as first, Connection(broker.bootstrap) as second:
            started = time.monotonic()
            asked = [(member, join(member, "g")) for member in (first, second)]
            answers = [member.receive(ApiKey.JOIN_GROUP, 3, correlation_id) for member, correlation_id in asked]
            assert time.monotonic() - started > DELAY_MS / 1000
        assert [answer.generation_id for answer in answers] == [1, 1]
        assert sorted(len(answer.members) for answer in answers) == [0, 2]
