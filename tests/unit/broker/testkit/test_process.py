"""A broker in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.testkit import Process
from oncelog.protocol.names import TopicPartition
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit


def test_it_is_killed_and_comes_back_with_what_it_acknowledged(tmp_path: Path) -> None:
    with Process(tmp_path / "data", {"num.partitions": 2, "auto.create.topics.enable": False}) as broker:
        assert broker.start() is broker
        address, pid = broker.bootstrap, broker.pid
        place = TopicPartition("a", 1)
        with Client(address) as client:
            client.create("a", 2)
            assert client.produce(TV2, None, (-1, -1), -1, place, b"1") == 0
        broker.crash()
        broker.crash()
        assert not broker.is_up
        for ask in ("bootstrap", "pid"):
            with pytest.raises(RuntimeError, match="restart"):
                getattr(broker, ask)
        broker.restart()
        assert (broker.bootstrap, broker.pid == pid) == (address, False)
        with Client(address) as client:
            assert client.end_offset(place, committed=False) == 1
        assert sum("Kafka Server started" in line for line in broker.log) == 2
    broker.close()
    assert not broker.is_up
    assert any("stopped" in line for line in broker.log)


def test_one_that_cannot_start_tells_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ended instead of serving(?s:.*)num.partitions"), Process(tmp_path, {"num.partitions": "many"}):
        pass
