"""The brokers behind the bootstrap servers: finds leaders and coordinators, keeps one connection a node.

    with Cluster("localhost:9092") as cluster:
        leader = cluster.leader("orders", 0)
        coordinator = cluster.coordinator(GROUP, "billing")

Nothing retries by itself except `until_ready` (codes 14, 15 and 16: a coordinator that is loading or moving).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from oncelog.broker.commands.client.wire import PLAINTEXT, ConnectFailure, Security, WireClient, error_code, parse_address
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.protocol.messages import MetadataResponse

T = TypeVar("T")
GROUP, TRANSACTION = 0, 1
# what a coordinator answers while it loads or moves: ask again
RETRIABLE = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
RETRY_BACKOFF_S = 0.1
# how long to ask again for a topic that a broker may be making
_CREATION: dict[int, float] = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 3.0, ErrorCode.LEADER_NOT_AVAILABLE: 30.0}


class Node(NamedTuple):
    """A broker as Metadata lists it, by its advertised address."""

    node_id: int
    host: str
    port: int


def check(code: int, message: str | None = None, *, about: str = "") -> None:
    """Raise KafkaError unless `code` is 0. `about` names the thing refused."""
    if code:
        error = error_code(code)
        text = message or error.name
        raise KafkaError(error, f"{about}: {text}" if about else text)


class Cluster:
    """The brokers behind `bootstrap` ("host:port,host:port"). Connections open when first needed and share `security`."""

    def __init__(self, bootstrap: str, *, security: Security = PLAINTEXT, client_id: str = "oncelog-cli", timeout_s: float = 10.0) -> None:
        self.bootstrap = bootstrap
        self.security = security
        self.timeout_s = timeout_s
        self._client_id = client_id
        self._first: WireClient | None = None
        self._by_node: dict[int, WireClient] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        for client in (self._first, *self._by_node.values()):
            if client is not None:
                client.close()
        self._first = None
        self._by_node.clear()

    def any(self) -> WireClient:
        """A connection to the first bootstrap server that works. Raises ConnectFailure of the last one tried."""
        if self._first is None:
            self._first = self._first_that_works()
        return self._first

    def metadata(self, topics: list[str] | None = None, *, create: bool = False) -> MetadataResponse:
        """A Metadata answer; `topics` None lists all, [] only the brokers. `create`: the broker may make what is missing."""
        from oncelog.protocol import messages

        named = None if topics is None else [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        return self.any().send(ApiKey.METADATA, messages.MetadataRequest(topics=named, allow_auto_topic_creation=create))

    def nodes(self) -> list[Node]:
        """The brokers in order of id."""
        return sorted(Node(broker.node_id, broker.host, broker.port) for broker in self.metadata([]).brokers)

    def node(self, node_id: int) -> WireClient:
        """A connection to `node_id` through its advertised address. Raises KafkaError(BROKER_NOT_AVAILABLE)."""
        if node_id not in self._by_node:
            for node in self.nodes():
                if node.node_id == node_id:
                    self._by_node[node_id] = self._client(node.host, node.port).connect()
                    break
            else:
                raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"no broker with id {node_id}")
        return self._by_node[node_id]

    def controller(self) -> WireClient:
        """The broker that takes administrative requests."""
        return self.node(self.metadata([]).controller_id)

    def leaders(self, topics: list[str] | None = None) -> dict[tuple[str, int], int]:
        """(topic, partition) -> node id of the leader. Raises KafkaError for a topic that cannot be described."""
        found: dict[tuple[str, int], int] = {}
        for topic in self.metadata(topics).topics:
            name = topic.name or ""  # null only in an answer about an id
            check(topic.error_code, about=f"topic {name}")
            found.update({(name, partition.partition_index): partition.leader_id for partition in topic.partitions})
        return found

    def partitions_to_write(self, topic: str) -> list[int]:
        """The partitions of a topic, which is made if it is missing and the broker makes topics by itself. Raises KafkaError."""
        begun = time.monotonic()
        while True:
            (found,) = self.metadata([topic], create=True).topics
            # the first answer says that it is unknown whether it is being made or not
            patience_s = _CREATION.get(found.error_code, 0.0)
            if time.monotonic() - begun >= min(patience_s, self.timeout_s):
                break
            time.sleep(RETRY_BACKOFF_S)
        if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            why = f"does not exist, and the broker does not make it by itself: `oncelog topic create {topic}`"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} {why}")
        check(found.error_code, about=f"topic {topic}")
        return sorted(partition.partition_index for partition in found.partitions)

    def leader(self, topic: str, partition: int) -> WireClient:
        """A connection to the leader of a partition. Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION)."""
        leader_id = self.leaders([topic]).get((topic, partition))
        if leader_id is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} has no partition {partition}")
        return self.node(leader_id)

    def coordinator(self, kind: int, name: str) -> WireClient:
        """A connection to the coordinator of a group (GROUP) or a transactional id (TRANSACTION); waits until there is one."""
        return self.node(self.coordinator_id(kind, name))

    def coordinator_id(self, kind: int, name: str) -> int:
        """The node id of the coordinator; waits until there is one."""
        return self.until_ready(lambda: self._find_coordinator(kind, name))

    def until_ready(self, ask: Callable[[], T]) -> T:
        """What `ask()` returns; asks again while it raises KafkaError 14, 15 or 16, up to the time limit."""
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return ask()
            except KafkaError as error:
                if error.code not in RETRIABLE or time.monotonic() >= deadline:
                    raise
            time.sleep(RETRY_BACKOFF_S)

    def _find_coordinator(self, kind: int, name: str) -> int:
        from oncelog.protocol import messages

        # v0-3 read `key`, v4+ read `coordinator_keys`; the codec leaves out what the version does not have
        request = messages.FindCoordinatorRequest(key=name, key_type=kind, coordinator_keys=[name])
        answer = self.any().send(ApiKey.FIND_COORDINATOR, request)
        found = answer.coordinators[0] if answer.coordinators else answer
        check(found.error_code, found.error_message, about=f"coordinator of {name}")
        return int(found.node_id)

    def _first_that_works(self) -> WireClient:
        failure = ConnectFailure("dns", self.bootstrap, "no bootstrap server given")
        for text in self.bootstrap.split(","):
            try:
                return self._client(*parse_address(text)).connect()
            except ConnectFailure as error:
                failure = error
        raise failure

    def _client(self, host: str, port: int) -> WireClient:
        return WireClient(host, port, security=self.security, client_id=self._client_id, timeout_s=self.timeout_s)
