"""A directory with share groups that a real Apache Kafka wrote, opened here: what was known of share partitions is."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.storage.audit.findings import Kind
from oncelog.storage.audit.verify import verify
from referee.apache_kafka import ApacheKafka, available, free_ports
from support.process import BrokerProcess, wait_until
from support.share_requests import ACKNOWLEDGED, SharePartition, Told, batch, have_coordinator, when_loaded
from support.wire import Connection

pytestmark = [pytest.mark.referee, pytest.mark.timeout(300), pytest.mark.skipif(not available(), reason="needs Java and Maven")]
PARTITIONS = 6


def share_partitions(connection: Connection, topic_id: object) -> list[SharePartition]:
    have_coordinator(connection.request)
    made = [SharePartition(connection.request, "workers", topic_id, number) for number in range(PARTITIONS)]  # type: ignore[arg-type]
    return [when_loaded(one) for one in made]


def known(partitions: list[SharePartition]) -> list[tuple[Told, Told]]:
    return [(one.read(3), one.summary()) for one in partitions]


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_share_partitions_go_on_where_they_were(tmp_path: Path, how: str) -> None:
    with ApacheKafka(tmp_path / "kafka", free_ports()) as kafka:
        kafka.start()
        with Connection(kafka.bootstrap, timeout=20) as connection:
            kind = messages.CreateTopicsRequest.CreatableTopic
            topic = kind(name="orders", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
            request = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
            topic_id = connection.request(ApiKey.CREATE_TOPICS, 7, request).topics[0].topic_id
            partitions = share_partitions(connection, topic_id)
            wait_until(lambda: all(one.summary().error_code == 0 for one in partitions), 20.0, "the topic")
            for number, one in enumerate(partitions):
                assert one.initialize(number, number).error_code == 0
            for n in range(700):  # across a snapshot
                assert (
                    partitions[0].write(batch(2 * n, 2 * n, ACKNOWLEDGED), batch(2 * n + 1, 2 * n + 1), start=n, complete=1).error_code == 0
                )
            assert partitions[1].read(3).error_code == 0
            assert partitions[1].write(batch(1, 4, count=3), start=1, leader_epoch=3, state_epoch=1).error_code == 0
            assert partitions[2].delete().error_code == 0
            expected = known(partitions)
        kafka.stop() if how == "stopped" else kafka.kill()
    assert len(expected[0][0].batches or ()) == 701
    with BrokerProcess(kafka.data, {}) as ours, Connection(ours.bootstrap, timeout=20) as connection:
        partitions = share_partitions(connection, topic_id)
        assert known(partitions) == expected
        assert partitions[1].write(batch(5, 6), start=1, leader_epoch=2).error_code == 74
        assert partitions[3].initialize(2, 0).error_code == 124
        ours.stop()
    found = {one.kind for one in verify(kafka.data).errors if one.partition.startswith("__share")}
    assert found <= {Kind.SHARED_BEYOND_END}  # no record was ever written, all the same they were acknowledged
