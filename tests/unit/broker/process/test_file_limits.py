"""Descriptors are shared out, so that neither very many connections nor very many partitions leave none for the other."""

from __future__ import annotations

import contextlib
import resource
import socket
from pathlib import Path

import pytest
from oncelog.broker.process.file_limits import MOST_LOGS, RESERVED, shares
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.process import BrokerProcess, wait_until
from support.wire import Connection

FEW = 256
LIMITED = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, (100, {FEW}))
runpy.run_module("oncelog.broker", run_name="__main__")
"""


class LimitedBroker(BrokerProcess):
    """A broker that may have few files open."""

    launcher = ("-c", LIMITED)


@pytest.mark.unit
@pytest.mark.parametrize("total", [64, 100, 256, 1024, 4096, 20_000, 524_288, 1 << 20])
def test_everybody_gets_some(total: int) -> None:
    limits = shares(total)
    assert limits.logs > 0
    assert limits.connections > 0
    assert limits.logs <= MOST_LOGS
    if total >= 256:
        assert limits.logs + limits.connections + RESERVED <= total
    if total >= 20_000:
        assert limits.connections >= 5_000


@pytest.mark.wire
def test_more_connections_than_files(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The soft limit is raised; who comes when the rest is used up is turned away and told of in the log, the others are served."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs the broker's process")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard > 2 * FEW
    with LimitedBroker(tmp_path / "data") as broker, Connection(broker.bootstrap) as client, contextlib.ExitStack() as stack:
        partitions = 300
        topics = [{"name": "t", "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}]
        create(client, topics)
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), 10)) for _ in range(FEW + 50)]
        wait_until(lambda: "raise ulimit -n" in broker.text(), what="the warning")
        for one in sockets:
            one.settimeout(0)
        assert wait_until(lambda: sum(map(is_closed, sockets)) >= 50, what="surplus connections being closed")
        assert sum(map(is_closed, sockets)) < FEW
        for partition in range(partitions):
            assert produce(client, partition) == 0
        for one in sockets:
            one.close()
        for partition in range(partitions):
            assert produce(client, partition) == 1
        with Connection(broker.bootstrap) as later:
            assert produce(later, 0) == 2


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def create(client: Connection, topics: list[dict[str, object]]) -> None:
    from oncelog.protocol import messages

    kind = messages.CreateTopicsRequest
    asked = kind(topics=[kind.CreatableTopic(**topic) for topic in topics], timeout_ms=10_000, validate_only=False)
    assert [topic.error_code for topic in client.request(ApiKey.CREATE_TOPICS, 5, asked).topics] == [0]


def produce(client: Connection, partition: int) -> int:
    """The offset."""
    from oncelog.protocol import messages

    kind = messages.ProduceRequest
    data = kind.TopicProduceData.PartitionProduceData(index=partition, records=bytes(build_batch([(1, None, b"value")])))
    asked = kind(transactional_id=None, acks=1, timeout_ms=10_000, topic_data=[kind.TopicProduceData(name="t", partition_data=[data])])
    (answer,) = client.request(ApiKey.PRODUCE, 9, asked).responses[0].partition_responses
    assert answer.error_code == 0
    offset: int = answer.base_offset
    return offset
