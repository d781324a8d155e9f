"""A broker in this process: its lives, its time, and what is told of misuse."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest
from oncelog.broker.testkit import Broker
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit
PLACE = TopicPartition("a", 0)


def write(broker: Broker, value: bytes) -> None:
    with Client(broker.bootstrap) as client:
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, value) == 0


def values(broker: Broker) -> list[bytes | None]:
    return [record.value for record in broker.records("a")]


def test_acknowledged_records_outlive_a_restart_a_crash_and_a_power_cut() -> None:
    with Broker() as broker:
        address = broker.bootstrap
        broker.create_topic("a")
        for number, end in enumerate((broker.restart, broker.crash, broker.power_cut)):
            write(broker, str(number).encode())
            end()
            if not broker.is_up:
                broker.restart()
        assert values(broker) == [b"0", b"1", b"2"]
        assert broker.bootstrap == address


def test_without_syncs_a_power_cut_loses_what_a_crash_does_not() -> None:
    with Broker({"log.flush.on.ack": False}) as broker:
        broker.create_topic("a")
        write(broker, b"1")
        broker.crash()
        broker.restart()  # which syncs what it finds
        write(broker, b"2")  # synced with what the restart left to be written
        write(broker, b"3")
        assert values(broker) == [b"1", b"2", b"3"]
        broker.power_cut()
        broker.restart()
        assert values(broker) == [b"1", b"2"]


def test_while_it_is_down_nobody_is_served_and_everything_says_so() -> None:
    with Broker() as broker:
        host, port = broker.bootstrap.split(":")
        broker.crash()
        with pytest.raises(OSError) as refused, socket.create_connection((host, int(port)), 5):
            pass
        assert refused.value.errno == errno.ECONNREFUSED
        for call in (lambda: broker.bootstrap, broker.state, lambda: broker.records("a"), lambda: broker.clock.advance(1)):
            with pytest.raises(RuntimeError, match="restart"):
                call()
        broker.wait_down(0)


def test_a_reset_leaves_nothing() -> None:
    with Broker() as broker:
        address = broker.bootstrap
        with Client(broker.bootstrap) as client:
            client.create("a", 1)
            client.init("t")
        broker.reset()
        assert broker.state() == {"topics": {}, "groups": {}, "transactions": {}}
        assert broker.bootstrap == address


def test_a_transaction_times_out_when_time_is_moved() -> None:
    with Broker(clock="virtual") as broker, Client(broker.bootstrap) as client:
        client.create("a", 1)
        pair = client.init("t")
        assert client.produce(TV2, "t", pair, 0, PLACE, b"x") == 0
        before = broker.clock.now_ms()
        broker.clock.advance(899)
        assert broker.state()["transactions"]["t"]["state"] == "Ongoing"
        assert broker.clock.advance(2) - before in (901_000, 901_001)
        assert broker.state()["transactions"]["t"]["state"] == "CompleteAbort"
        assert broker.records("a") == []
        assert [record.value for record in broker.records("a", "read_uncommitted")] == [b"x"]


def test_a_week_of_retention() -> None:
    with Broker({"internal.log.segment.bytes": 100}, clock="virtual") as broker:
        broker.create_topic("a")
        write(broker, b"old")
        write(broker, b"old too")
        broker.clock.advance(8 * 86_400)
        assert values(broker) == []


def test_a_folder_keeps_the_data(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("a")
        write(broker, b"1")
        broker.crash()
    with Broker(data_dir=tmp_path / "data") as broker:
        assert values(broker) == [b"1"]


def test_a_reset_empties_what_the_broker_made_and_nothing_else(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("a")
        broker.reset()
        assert broker.state()["topics"] == {}
        broker.create_topic("b")
    with Broker(data_dir=tmp_path / "data") as broker:
        with pytest.raises(PermissionError, match=r"control\.reset\.enable"):
            broker.reset()
        broker.restart()
        with pytest.raises(PermissionError):
            broker.reset()
        assert broker.state()["topics"].keys() == {"b"}
    with Broker({"control.reset.enable": True}, tmp_path / "data") as broker:
        broker.reset()
        assert broker.state()["topics"] == {}


def test_the_data_can_be_saved(tmp_path: Path) -> None:
    with Broker() as broker:
        broker.create_topic("a")
        write(broker, b"1")
        broker.save(tmp_path / "saved")
    with Broker(data_dir=tmp_path / "saved") as broker:
        assert values(broker) == [b"1"]


def test_a_point_that_was_never_passed_is_named() -> None:
    with Broker() as broker:
        broker.crash_at("in-roll", nth=3)
        with pytest.raises(TimeoutError, match=r"in-roll \(to be passed 3 more times\)"):
            broker.wait_down(0.01)


def test_misuse_says_what_is_right() -> None:
    with pytest.raises(ValueError, match='"running" or "virtual"'):
        Broker(clock="fast")
    with pytest.raises(KafkaError, match="did you mean"):
        Broker({"log.flush.on.akk": "true"}).start()
    idle = Broker()
    with pytest.raises(RuntimeError, match="not started"):
        idle.reset()
    idle.close()
    with Broker() as broker:
        assert broker.start() is broker
        with pytest.raises(LookupError, match="there are none"):
            broker.records("a")
        broker.create_topic("a")
        with pytest.raises(ValueError, match="read_committed or read_uncommitted"):
            broker.records("a", "committed")
        with pytest.raises(ValueError, match="does not go back"):
            broker.clock.advance(-1)
