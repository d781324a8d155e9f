"""The brokers behind the bootstrap servers: who is asked, what is asked again, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from oncelog.broker.commands.client import cluster as module
from oncelog.broker.commands.client.cluster import GROUP, TRANSACTION, Cluster, Node, check
from oncelog.broker.commands.client.wire import AddressError, ConnectFailure
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.scripted_broker import ScriptedBroker
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


class Clock:
    """Time that passes while one sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def cluster(served: ServedBroker) -> Iterator[Cluster]:
    with Cluster(served.address) as made:
        yield made


@pytest.mark.parametrize(
    ("code", "given", "text"),
    [
        (36, "it is there", "topic t: it is there"),
        (36, None, "topic t: TOPIC_ALREADY_EXISTS"),
        (9999, None, "topic t: UNKNOWN_SERVER_ERROR"),
    ],
)
def test_codes_become_errors(code: int, given: str | None, text: str) -> None:
    check(0, "whatever")
    with pytest.raises(KafkaError) as refused:
        check(code, given, about="topic t")
    assert refused.value.message == text


def test_the_first_address_that_works(served: ServedBroker) -> None:
    gone = ScriptedBroker()
    gone.close()
    with Cluster(f"{gone.address},{served.address}") as cluster:
        assert cluster.any().port == served.port
        assert cluster.any() is cluster.any()
    with pytest.raises(ConnectFailure) as failure:
        Cluster(f"{gone.address},{gone.address}").any()
    assert failure.value.stage == "tcp"
    with pytest.raises(AddressError):
        Cluster(f"{gone.address},").any()


def test_nodes_by_their_advertised_address(served: ServedBroker, cluster: Cluster) -> None:
    assert cluster.nodes() == [Node(1, "127.0.0.1", served.port)]
    assert cluster.node(1) is cluster.node(1)
    assert cluster.controller() is cluster.node(1)
    with pytest.raises(KafkaError, match="no broker with id 2") as refused:
        cluster.node(2)
    assert refused.value.code is ErrorCode.BROKER_NOT_AVAILABLE


def test_closed_it_opens_again(cluster: Cluster) -> None:
    first = cluster.node(1)
    cluster.close()
    assert first._socket is None
    assert cluster.node(1) is not first


def test_leaders(cluster: Cluster) -> None:
    assert cluster.leaders(["t"]) == {("t", 0): 1, ("t", 1): 1}
    assert cluster.leaders() == cluster.leaders(["t"])
    assert cluster.leader("t", 1) is cluster.node(1)
    with pytest.raises(KafkaError, match="topic t has no partition 2"):
        cluster.leader("t", 2)
    with pytest.raises(KafkaError, match="topic gone: ") as refused:
        cluster.leaders(["t", "gone"])
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("kind", [GROUP, TRANSACTION])
def test_coordinators(cluster: Cluster, kind: int) -> None:
    assert cluster.coordinator_id(kind, "x") == 1
    assert cluster.coordinator(kind, "x") is cluster.node(1)
    with pytest.raises(KafkaError, match="coordinator of x: Unknown coordinator type 5"):
        cluster.coordinator(5, "x")


def failing(times: int, code: ErrorCode) -> Callable[[], str]:
    left = [times]

    def ask() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise KafkaError(code)
        return "there"

    return ask


@pytest.mark.parametrize("code", [14, 15, 16])
def test_what_is_asked_again(clock: Clock, code: int) -> None:
    cluster = Cluster("h:1", timeout_s=10.0)
    assert cluster.until_ready(failing(3, ErrorCode(code))) == "there"
    assert clock.naps == 3
    with pytest.raises(KafkaError):
        cluster.until_ready(failing(1000, ErrorCode(code)))
    assert 10.0 <= clock.now < 11.0


def test_what_is_not(clock: Clock) -> None:
    with pytest.raises(KafkaError):
        Cluster("h:1").until_ready(failing(1, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    assert clock.naps == 0


def test_partitions_of_a_topic_that_is_made_on_demand(served: ServedBroker, cluster: Cluster) -> None:
    assert cluster.partitions_to_write("t") == [0, 1]
    assert cluster.partitions_to_write("fresh") == [0]
    assert served.whole.logs.topics.get("fresh") is not None


def test_a_topic_that_nobody_makes(broker: ScriptedBroker, clock: Clock) -> None:
    with Cluster(broker.address) as cluster, pytest.raises(KafkaError, match="`oncelog topic create gone`") as refused:
        cluster.partitions_to_write("gone")
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert 3.0 <= clock.now < 3.5  # the first answer does not say whether it is being made


def test_a_topic_without_a_leader_yet(broker: ScriptedBroker, clock: Clock) -> None:
    topic = messages.MetadataResponse.MetadataResponseTopic
    broker.answers[ApiKey.METADATA] = lambda version, request: messages.MetadataResponse(topics=[topic(error_code=5, name="t")])
    with Cluster(broker.address, timeout_s=7.0) as cluster, pytest.raises(KafkaError) as refused:
        cluster.partitions_to_write("t")
    assert refused.value.code is ErrorCode.LEADER_NOT_AVAILABLE
    assert 7.0 <= clock.now < 7.5  # no longer than the command may take
