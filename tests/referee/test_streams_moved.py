"""A streams group moves from oncelog into a real Apache Kafka: its members go on where they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from referee.apache_kafka import available
from referee.moving import moved_into_kafka
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.streams_client import StreamsClient, at_once, describe, info, part, settle
from support.wire import Connection

pytestmark = [
    pytest.mark.referee,
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
]
GROUP, PARTITIONS = "movers", 4


def test_members_go_on(tmp_path: Path) -> None:
    """Topology, tasks and epochs are Kafka's own records: nobody has to join again, and no task changes hands."""
    source = tmp_path / "ours"
    parts = part("0", "in", state_changelog_topics=[info("movers-changelog", cleanup_policy="compact")])
    with BrokerProcess(source) as ours, Connection(ours.bootstrap) as connection:
        topic = {"name": "in", "num_partitions": PARTITIONS, "replication_factor": 1, "assignments": [], "configs": []}
        fields = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
        connection.request(ApiKey.CREATE_TOPICS, 5, build(messages.CreateTopicsRequest, fields))
        first = {"transactional_id": "any", "transaction_timeout_ms": 10_000, "producer_id": -1, "producer_epoch": -1}
        connection.request(ApiKey.INIT_PRODUCER_ID, 4, first)  # the move wants the topic of transactions, too
        at_once(connection, GROUP)
        members = [StreamsClient(connection, GROUP, f"m{n}", parts, process_id=f"p{n}") for n in range(2)]
        for member in members:
            member.join()
        settle(*members, done=lambda: [len(member.active.get("0", [])) for member in members] == [2, 2])
        ours.stop()
    had = [member.active for member in members]
    with moved_into_kafka(source, tmp_path / "kafka") as kafka, Connection(kafka.bootstrap) as connection:
        for member in members:
            member.connection = connection
        wait_until(lambda: members[0].send().error_code == 0, 30, "the group's coordinator")
        at_once(connection, GROUP)
        settle(*members, done=lambda: describe(connection, GROUP).group_state == "Stable")
        assert [member.active for member in members] == had
        assert {member.member_id for member in describe(connection, GROUP).members} == {"m0", "m1"}
