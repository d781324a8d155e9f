"""A Kafka for the sink's client, without sockets: answers by API as a test scripts them, connections that break when told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.spark_jobs.sink import client, wire

ADDRESS = ("h", 9092)
Answer = Callable[[Any], Any]


def response(api: wire.Api, **fields: Any) -> bytes:
    """An answer as the broker encodes it."""
    kind = getattr(messages, f"{ApiKey(api[0]).schema_name}Response")
    return bytes(messages.encode_response(*api, kind(**fields)))


class Time:
    """Pauses pass at once."""

    def __init__(self) -> None:
        self.now, self.pauses = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


class Connection:
    """Requests are handled when they are sent; answers wait to be read, unless the connection broke."""

    def __init__(self, broker: Broker, address: tuple[str, int]) -> None:
        self.broker, self.address = broker, address
        self.waiting: deque[bytes | OSError] = deque()
        self.closed = False

    def send(self, api: wire.Api, body: Iterable[bytes]) -> None:
        assert not self.closed
        self.waiting.append(self.broker.handle(self.address, api, b"".join(body)))

    def receive(self) -> bytes:
        answer = self.waiting.popleft()
        if isinstance(answer, OSError):
            raise answer
        return answer

    def call(self, api: wire.Api, body: Iterable[bytes]) -> bytes:
        self.send(api, body)
        return self.receive()

    def close(self) -> None:
        self.closed = True


class Broker:
    """`on[api]` holds what is answered, one after the other, the last for ever: fields, an error to break the connection, or a function."""

    def __init__(self) -> None:
        self.on: dict[wire.Api, list[Any]] = {wire.FIND_COORDINATOR: [{"error_code": 0, "node_id": 0, "host": "h", "port": 9092}]}
        self.asked: list[tuple[tuple[str, int], wire.Api, Any]] = []
        self.connections: list[Connection] = []
        self.down: set[tuple[str, int]] = set()
        self.topics({"t": [0]})

    def topics(self, leaders: dict[str, list[int]], errors: dict[str, int] | None = None) -> None:
        """What Metadata says from now on: topic -> the leader of each partition; node n is at port 9092 + n."""
        kind: Any = messages.MetadataResponse
        one = kind.MetadataResponseTopic
        known = [
            one(
                name=name, partitions=[one.MetadataResponsePartition(partition_index=n, leader_id=leader) for n, leader in enumerate(nodes)]
            )
            for name, nodes in leaders.items()
        ]
        known += [one(name=name, error_code=code) for name, code in (errors or {}).items()]
        brokers = [kind.MetadataResponseBroker(node_id=node, host="h", port=9092 + node) for node in (0, 1)]
        self.on[wire.METADATA] = [*self.on.get(wire.METADATA, [])[:-1], {"brokers": brokers, "topics": known}]

    def open(self, address: tuple[str, int], _settings: object, _timeout: float) -> Connection:
        if address in self.down:
            raise ConnectionRefusedError(f"{address} is down")
        self.connections.append(Connection(self, address))
        return self.connections[-1]

    def handle(self, address: tuple[str, int], api: wire.Api, body: bytes) -> bytes | OSError:
        request = messages.decode_request(*api, body)
        self.asked.append((address, api, request))
        script = self.on[api]
        found = script.pop(0) if len(script) > 1 else script[0]
        if callable(found):
            found = found(request)
        return found if isinstance(found, OSError) else response(api, **found)

    def count(self, api: wire.Api) -> int:
        return sum(asked[1] == api for asked in self.asked)


@contextmanager
def cluster(broker: Broker, monkeypatch: pytest.MonkeyPatch, *, patience: float = 60.0) -> Iterator[tuple[client.Cluster, Time]]:
    """A cluster whose connections lead to `broker`, in a time of its own."""
    passing = Time()
    monkeypatch.setattr(client, "Connection", broker.open)
    monkeypatch.setattr(client, "time", passing)
    with client.Cluster("h:9092,h:9093", patience=patience) as made:
        yield made, passing
    assert all(connection.closed for connection in broker.connections)
