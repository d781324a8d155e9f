"""Rules, each as a client feels it: raw requests to a broker in this process."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.testkit import Broker
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import uuid_from_kafka
from support.txn_client import TV2, Client
from support.wire import Connection

pytestmark = pytest.mark.wire
PLACE = TopicPartition("a", 0)


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as made:
        yield made


@pytest.fixture
def broker(shared: Broker) -> Broker:
    shared.reset()
    shared.create_topic("a", 2)
    return shared


def init(broker: Broker, id: str = "t") -> tuple[int, int]:
    with Client(broker.bootstrap) as client:
        return client.init(id)


def versions(broker: Broker, client_id: str = "wire") -> Connection:
    """A connection with an ApiVersions request under way."""
    connection = Connection(broker.bootstrap, client_id=client_id)
    send(connection, ApiKey.API_VERSIONS, 3, messages.ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    return connection


def send(connection: Connection, key: ApiKey, version: int, request: object) -> None:
    connection.send(key, version, bytes(messages.encode_request(key, version, request)))


def state(broker: Broker, id: str = "t") -> str:
    return str(broker.state()["transactions"][id]["state"])


def begin(broker: Broker, client: Client) -> tuple[int, int]:
    pair = client.init("t")
    assert client.produce(TV2, "t", pair, 0, PLACE, b"x") is ErrorCode.NONE
    return pair


def end(client: Client, pair: tuple[int, int]) -> int:
    return int(client.ask(ApiKey.END_TXN, 5, transactional_id="t", producer_id=pair[0], producer_epoch=pair[1], committed=True).error_code)


def test_an_error_is_answered_and_nothing_done(broker: Broker) -> None:
    with Client(broker.bootstrap) as client:
        pair = begin(broker, client)
        rule = broker.faults.add(api="EndTxn", action={"type": "error", "code": "COORDINATOR_LOAD_IN_PROGRESS"}, times=2)
        assert [end(client, pair), end(client, pair)] == [14, 14]
        assert state(broker) == "Ongoing"
        assert end(client, pair) == 0
        assert (rule.hits, [hit["what"] for hit in rule.requests]) == (2, ["EndTxn", "EndTxn"])
        assert state(broker) == "CompleteCommit"


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.TXN_OFFSET_COMMIT, ApiKey.ADD_PARTITIONS_TO_TXN])
def test_errors_stand_where_each_api_has_them(broker: Broker, api: ApiKey) -> None:
    broker.faults.add(api=api.schema_name, action={"type": "error", "code": "TOPIC_AUTHORIZATION_FAILED"})
    with Client(broker.bootstrap) as client:
        match api:
            case ApiKey.PRODUCE:
                code = int(client.send(TV2, None, PLACE, b"")[0])
            case ApiKey.LIST_OFFSETS:
                answer = client.ask(api, 5, replica_id=-1, isolation_level=0, topics=OFFSETS)
                code = answer.topics[0].partitions[0].error_code
            case ApiKey.TXN_OFFSET_COMMIT:
                code = client.ask(api, 3, **COMMIT).topics[0].partitions[0].error_code
            case _:
                code = int(client.add("t", (1, 0), PLACE))
    assert code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


OFFSETS = [{"name": "a", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
COMMIT: dict[str, Any] = {
    "transactional_id": "t",
    "group_id": "g",
    "producer_id": 1,
    "producer_epoch": 0,
    "topics": [{"name": "a", "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
}


def test_a_dropped_answer_was_applied(broker: Broker) -> None:
    with Client(broker.bootstrap) as client:
        pair = begin(broker, client)
        broker.faults.add(api="EndTxn", transactional_id="t", action="drop_answer")
        with pytest.raises((ConnectionError, AssertionError)):
            end(client, pair)
    assert state(broker) == "CompleteCommit"
    with Client(broker.bootstrap) as client:
        assert end(client, pair) == 0  # the retry of a lost answer


def test_a_dropped_request_was_not_applied(broker: Broker) -> None:
    with Client(broker.bootstrap) as client:
        pair = begin(broker, client)
        broker.faults.add(api=26, action="drop_request")
        with pytest.raises((ConnectionError, AssertionError)):
            end(client, pair)
    assert state(broker) == "Ongoing"


@pytest.mark.parametrize("action", ["drop_request", "drop_answer"])
def test_an_open_connection_may_fall_silent(broker: Broker, action: str) -> None:
    rule = broker.faults.add(api="ApiVersions", action={"type": action, "keep_open": True})
    with versions(broker) as mute, versions(broker) as other:
        assert other.receive_frame() is not None
        assert rule.hits == 1
        mute.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            mute.receive_frame()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_held_request_is_applied_before_or_after_it_is_let_go(broker: Broker, when: str) -> None:
    with Client(broker.bootstrap) as client:
        pair = begin(broker, client)
        rule = broker.faults.add(api="EndTxn", action={"type": "hold", "when": when})
        codes: list[int] = []
        asking = threading.Thread(target=lambda: codes.append(end(client, pair)))
        asking.start()
        rule.wait_hit()
        assert state(broker) == ("Ongoing" if when == "before" else "CompleteCommit")
        assert rule.release() == 1
        asking.join(10)
        assert codes == [0]
        assert state(broker) == "CompleteCommit"


@pytest.mark.parametrize("action", ["hold", "delay"])
def test_records_that_waited_are_written_as_they_came(broker: Broker, action: str) -> None:
    with Client(broker.bootstrap) as client:
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"1") is ErrorCode.NONE
        rule = broker.faults.add(api="Produce", action={"type": action, **({"ms": 1} if action == "delay" else {})})
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(client.produce, TV2, None, (-1, -1), -1, PLACE, b"2")
            rule.wait_hit()
            rule.release()
            assert asked.result() is ErrorCode.NONE
    assert [record.value for record in broker.records("a")] == [b"1", b"2"]


def test_removing_a_rule_lets_go_what_it_holds(broker: Broker) -> None:
    rule = broker.faults.add(api="ApiVersions", action="hold")
    with versions(broker) as held:
        rule.wait_hit()
        rule.remove()
        assert held.receive_frame() is not None
    assert broker.faults.list() == []


def test_a_delay_keeps_the_order_of_a_connection(broker: Broker) -> None:
    broker.faults.add(api="ApiVersions", action={"type": "delay", "ms": 50})
    begun = time.monotonic()
    with versions(broker) as connection:
        send(connection, ApiKey.METADATA, 9, messages.MetadataRequest(topics=[]))
        first, second = connection.receive_frame(), connection.receive_frame()
    assert first is not None
    assert second is not None
    assert [struct.unpack_from(">i", first)[0], struct.unpack_from(">i", second)[0]] == [1, 2]
    assert time.monotonic() - begun >= 0.05


def test_a_closed_connection_ends_orderly_and_a_reset_one_does_not(broker: Broker) -> None:
    broker.faults.add(api="ApiVersions", client_id="closed", action="close")
    broker.faults.add(api="ApiVersions", client_id="reset", action="reset")
    with versions(broker, "closed") as closed:
        assert closed.socket.recv(1) == b""
    with versions(broker, "reset") as reset, pytest.raises(ConnectionResetError):
        reset.socket.recv(1)


def test_an_answer_is_cut(broker: Broker) -> None:
    broker.faults.add(api="ApiVersions", action={"type": "short_write", "bytes": 10})
    with versions(broker) as connection:
        received = b""
        while piece := connection.socket.recv(4096):
            received += piece
    assert len(received) == 10
    assert struct.unpack_from(">ii", received)[1] == 1


def test_an_answer_trickles_and_what_is_behind_it_waits(broker: Broker) -> None:
    broker.faults.add(api="ApiVersions", action={"type": "throttle", "bytes_per_second": 5000})
    begun = time.monotonic()
    with versions(broker) as connection:
        send(connection, ApiKey.METADATA, 9, messages.MetadataRequest(topics=[]))
        first, second = connection.receive_frame(), connection.receive_frame()
    assert first is not None
    assert second is not None
    assert struct.unpack_from(">i", second)[0] == 2
    assert time.monotonic() - begun >= len(first) / 5000 * 0.9


def test_two_answers_change_places(broker: Broker) -> None:
    rule = broker.faults.add(api="ApiVersions", action="reorder", times=2)
    with versions(broker) as first:
        rule.wait_hit()
        with versions(broker) as second:
            assert second.receive_frame() is not None
            assert first.receive_frame() is not None
    assert rule.hits == 2


def test_a_full_disk_passes_and_a_failed_sync_does_not(broker: Broker) -> None:
    rule = broker.faults.add(topic="a", partition=0, action="disk_full")
    with Client(broker.bootstrap) as client:
        first = client.produce(TV2, None, (-1, -1), -1, PLACE, b"1")
        assert (first, rule.hits) == (ErrorCode.KAFKA_STORAGE_ERROR, 1)
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"2") is ErrorCode.NONE
        broker.faults.add(topic="a", partition=0, action="sync_fails")
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"3") is not ErrorCode.NONE
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"4") is ErrorCode.KAFKA_STORAGE_ERROR
        assert client.produce(TV2, None, (-1, -1), -1, TopicPartition("a", 1), b"5") is ErrorCode.NONE


def test_rules_of_one_test_leave_the_others_clients_alone(broker: Broker) -> None:
    mine = broker.faults.add(api="Produce", topic="mine", action={"type": "error", "code": "NOT_LEADER_OR_FOLLOWER"}, times=None)
    one = broker.faults.add(api="ApiVersions", client_id="one", action="close", times=None)
    with Client(broker.bootstrap) as client:
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"1") is ErrorCode.NONE
    with versions(broker, "another") as connection:
        assert connection.receive_frame() is not None
    assert (mine.hits, one.hits) == (0, 0)


def test_topics_known_by_id_only_are_matched_by_name(broker: Broker) -> None:
    rule = broker.faults.add(api="Fetch", topic="a", partition=1, action="close")
    topic = broker.state()["topics"]["a"]["id"]
    partitions = [{"partition": 1, "fetch_offset": 0, "partition_max_bytes": 1}]
    topics = [{"topic_id": uuid_from_kafka(topic), "partitions": partitions}]
    with Client(broker.bootstrap) as client, pytest.raises((ConnectionError, AssertionError)):
        client.ask(ApiKey.FETCH, 13, session_epoch=-1, max_bytes=1, topics=topics)
    assert rule.hits == 1


def test_which_of_many(broker: Broker) -> None:
    def closed(count: int) -> list[int]:
        found = []
        for number in range(1, count + 1):
            with versions(broker) as connection:
                if connection.receive_frame() is None:
                    found.append(number)
        return found

    broker.faults.add(api="ApiVersions", nth=3, action="close")
    assert closed(5) == [3]
    broker.faults.clear()
    broker.faults.add(api="ApiVersions", every=2, action="close", times=2)
    assert closed(7) == [2, 4]
    broker.faults.clear()
    seen = []
    for _ in range(2):
        broker.faults.add(api="ApiVersions", probability=0.5, seed=7, action="close", times=None)
        seen.append(closed(12))
        broker.faults.clear()
    assert seen[0] == seen[1]
    assert 0 < len(seen[0]) < 12
    lock = broker.faults.add(api="Metadata", action="close")
    broker.faults.add(api="ApiVersions", while_=lock, action="close", times=None)
    assert closed(2) == [1, 2]
    lock.remove()
    assert closed(2) == []


def test_a_rule_that_had_to_hit_says_why_it_did_not(broker: Broker) -> None:
    rule = broker.faults.add(api="EndTxn", transactional_id="tt", action="drop_answer", must_hit=True)
    with pytest.raises(NeverHit, match="nothing that came agreed"):
        rule.remove()
    broker.faults.add(api="ApiVersions", nth=2, action="close", must_hit=True)
    with versions(broker) as connection:
        connection.receive_frame()
    with pytest.raises(NeverHit, match="1 agreed to the rest of its match"):
        broker.faults.clear()
    assert broker.faults.list() == []
