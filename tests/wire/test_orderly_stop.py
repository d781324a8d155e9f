"""SIGTERM and SIGHUP while clients connect and produce: what was acknowledged is there after the next start, which recovers nothing."""

from __future__ import annotations

import contextlib
import signal
import threading
from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from oncelog.storage.files import checkpoints
from support.process import BrokerProcess, wait_until
from support.wire import Connection

PRODUCE_VERSION = 9
THREADS = 24
STOPS = 4


class Knockers:
    """Threads that connect, produce one record each time, and remember the offsets they were told."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: set[int] = set()
        self._bootstrap = bootstrap
        self._ended = threading.Event()
        request = messages.ProduceRequest
        data = request.TopicProduceData.PartitionProduceData(index=0, records=bytes(build_batch([(0, None, b"x")])))
        topics = [request.TopicProduceData(name=topic, partition_data=[data])]
        self._request = request(transactional_id=None, acks=-1, timeout_ms=30_000, topic_data=topics)
        self._threads = [threading.Thread(target=self._knock) for _ in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def _knock(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError, AssertionError), Connection(self._bootstrap) as connection:
                part = connection.request(ApiKey.PRODUCE, PRODUCE_VERSION, self._request).responses[0].partition_responses[0]
                if part.error_code == 0:
                    self.acknowledged.add(part.base_offset)

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def end_offset(bootstrap: str, topic: str) -> int:
    with Connection(bootstrap) as connection:
        wanted = messages.ListOffsetsRequest.ListOffsetsTopic
        partition = wanted.ListOffsetsPartition(partition_index=0, timestamp=-1)
        asked = messages.ListOffsetsRequest(replica_id=-1, topics=[wanted(name=topic, partitions=[partition])])
        answer = connection.request(ApiKey.LIST_OFFSETS, 1, asked)
        return int(answer.topics[0].partitions[0].offset)


def make_topic(bootstrap: str, topic: str) -> None:
    with Connection(bootstrap) as connection:
        new = messages.CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=[])
        asked = messages.CreateTopicsRequest(topics=[new], timeout_ms=30_000, validate_only=False)
        assert connection.request(ApiKey.CREATE_TOPICS, 2, asked).topics[0].error_code == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_acknowledged_is_lost(tmp_path: Path, how: signal.Signals) -> None:
    broker = BrokerProcess(tmp_path / "data")
    with broker:
        make_topic(broker.bootstrap, "t")
        for _ in range(STOPS):
            knockers = Knockers(broker.bootstrap, "t")
            wait_until(lambda knockers=knockers: len(knockers.acknowledged) > THREADS)  # type: ignore[misc]
            assert broker._end(how) == 0
            knockers.end()
            assert (tmp_path / "data" / checkpoints.CLEAN_MARKER).exists()
            broker.start()
            assert end_offset(broker.bootstrap, "t") > max(knockers.acknowledged)
