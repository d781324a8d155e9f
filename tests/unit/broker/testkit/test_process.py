"""A broker in a process of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.faults.rule import BadRule
from oncelog.broker.testkit import Process, assert_exactly_once, assert_no_open_transactions
from oncelog.protocol.errors import ErrorCode, KafkaError
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


def test_it_has_what_a_broker_in_the_tests_process_has(tmp_path: Path) -> None:
    place = TopicPartition("a", 0)
    with Process(tmp_path / "data", clock="virtual") as broker:
        broker.create_topic("a", 2, {"retention.ms": "1000"})
        with pytest.raises(KafkaError, match="exists"):
            broker.create_topic("a")
        rule = broker.faults.add(api="EndTxn", transactional_id="t", action={"type": "hold", "when": "after"})
        with Client(broker.bootstrap) as client, Client(broker.bootstrap) as other:
            pair = client.init("t")
            assert client.produce(TV2, "t", pair, 0, place, b"committed") is ErrorCode.NONE
            with ThreadPoolExecutor() as pool:
                ended = pool.submit(client.end, TV2, "t", pair, True)
                rule.wait_hit()
                assert rule.requests[0]["what"] == "EndTxn"
                assert (rule.release(), ended.result()[0]) == (1, ErrorCode.NONE)
            before = broker.clock.now_ms()
            pair = other.init("open")
            assert other.produce(TV2, "open", pair, 0, place, b"aborted") is ErrorCode.NONE
            assert broker.state()["transactions"]["open"]["state"] == "Ongoing"
            with pytest.raises(AssertionError, match="open is Ongoing"):
                assert_no_open_transactions(broker)
            assert broker.clock.advance(901) - before in (901_000, 901_001)
        assert_no_open_transactions(broker)
        assert_exactly_once(broker, "a", ["committed"])
        assert [record.value for record in broker.records("a", "read_uncommitted")] == [b"committed", b"aborted"]
        assert [told for _record, told in broker.outcomes("a")] == ["committed", "aborted"]
        assert "EndTxn" in [entry.get("api") for entry in broker.journal()]
        broker.save(tmp_path / "saved")
        assert (tmp_path / "saved" / "a-0").is_dir()
        broker.reset()
        assert broker.state() == {"topics": {}, "groups": {}, "transactions": {}}
        assert broker.faults.list() == []


def test_it_is_killed_where_that_was_asked_for(tmp_path: Path) -> None:
    with Process(tmp_path / "data") as broker:
        broker.create_topic("a")
        with pytest.raises(ValueError, match="did you mean mid-write"):
            broker.crash_at("mid-writes")
        broker.crash_at("mid-write", nth=2)
        with pytest.raises(TimeoutError, match=r"mid-write \(to be passed 2 more times\)"):
            broker.wait_down(0.01)
        rule = broker.faults.add(api="Produce", action={"type": "delay", "ms": 1}, times=None)
        with Client(broker.bootstrap) as client:
            assert client.produce(TV2, None, (-1, -1), -1, TopicPartition("a", 0), b"1") is ErrorCode.NONE
            assert rule.hits == 1
            with pytest.raises((ConnectionError, AssertionError)):
                client.produce(TV2, None, (-1, -1), -1, TopicPartition("a", 0), b"2")
        broker.wait_down()
        assert (broker.is_up, rule.hits, len(broker.faults.list())) == (False, 1, 1)
        broker.faults.clear()
        for ask in (broker.state, broker.clock.now_ms, lambda: broker.records("a"), broker.reset, lambda: broker.control_url):
            with pytest.raises(RuntimeError, match="restart"):
                ask()
        broker.restart()
        assert [record.value for record in broker.records("a")] == [b"1"]
        with pytest.raises(LookupError):
            broker.records("b")


def test_misuse_says_what_is_right(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='"running" or "virtual"'):
        Process(tmp_path, clock="fast")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").touch()
    with Process(tmp_path / "data") as broker:
        with pytest.raises(BadRule, match="did you mean EndTxn"):
            broker.faults.add(api="EndTxns", action="close")
        never = broker.faults.add(api="EndTxn", action="close", must_hit=True)
        with pytest.raises(NeverHit, match="had to hit and did not"):
            never.remove()
        broker.faults.add(api="EndTxn", action="close", must_hit=True)
        with pytest.raises(NeverHit):
            broker.faults.clear()
        with pytest.raises(KeyError):
            never.remove()
        with pytest.raises(PermissionError, match=r"control\.reset\.enable"):
            broker.reset()


def test_one_that_cannot_start_tells_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ended instead of serving(?s:.*)num.partitions"), Process(tmp_path, {"num.partitions": "many"}):
        pass
