"""A whole broker in memory whose handlers are called the way requests do: encoded, decoded, handled, encoded, decoded.

Its parts are those of `lifecycle.Broker`; only the disk is a simulated one, syncs are at once, and time stands still until `advance`.
A principal's rights are those of a real authorizer: everything is allowed until `deny` says otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

from oncelog.broker import lifecycle
from oncelog.broker.auth.acls import AclEntry, AclOperation, PatternType, PermissionType, ResourcePattern, ResourceType
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.auth.sasl import ANONYMOUS
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.settings.broker import BrokerConfig
from oncelog.broker.settings.load import load
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.env import Env
from oncelog.storage.log.log import Log

from support.inline import InlineFlusher, SeededRandom
from support.memory_store import MemoryStore, written
from support.simbroker import DATA, SETTINGS, build
from support.simfs import SimFileSystem
from support.simloop import SimClock, SimLoop

CLUSTER = (ResourceType.CLUSTER, "kafka-cluster")


class Connection:
    """What a handler sees of a client's connection, and what it did to it."""

    listener_name = "PLAINTEXT"
    at_once_bytes = 1 << 20

    def __init__(self, principal: str = ANONYMOUS, sasl: Any = None) -> None:
        self.principal = principal
        self.client_host = "10.0.0.1"
        self.local_address = ("127.0.0.1", 9092)
        self.sasl = sasl
        self.closing = False
        self.told: list[dict[str, object]] = []
        self.lost_listeners: tuple[Callable[[object], None], ...] = ()

    def close_after_response(self) -> None:
        self.closing = True

    def turned_away(self, what: str, **facts: object) -> None:
        self.told.append({"what": what, **facts})

    def authenticated(self, principal: str) -> None:
        self.principal = principal

    def lose(self) -> None:
        """The client hangs up."""
        for listener in self.lost_listeners:
            listener(self)


class Asked:
    """A request that was handed in; its answer is perhaps not there yet."""

    def __init__(self, key: ApiKey, version: int, reply: Any) -> None:
        self._key, self._version, self._reply = key, version, reply

    @property
    def waits(self) -> bool:
        return isinstance(self._reply, Deferred) and not self._reply.done

    def answer(self) -> Any:
        """As its client decodes it; None where nothing is sent. Raises what the handler's answer failed with."""
        assert not self.waits, "not answered yet"
        reply = self._reply.result() if isinstance(self._reply, Deferred) else self._reply
        if reply is None:
            return None
        if isinstance(reply, list):  # the buffers of a handler that encodes for itself
            data = b"".join(
                bytes(piece) if isinstance(piece, bytes | bytearray | memoryview) else piece.read(0, len(piece)) for piece in reply
            )
        else:
            data = bytes(reply) if isinstance(reply, bytearray) else bytes(messages.encode_response(self._key, self._version, reply))
        return messages.decode_response(self._key, self._version, memoryview(data))


class WholeBroker:
    """`settings`: as in a properties file. `topics`: name to number of partitions."""

    def __init__(self, topics: Mapping[str, int] | None = None, settings: Mapping[str, str] | None = None) -> None:
        self.loop = SimLoop()
        self.clock = SimClock()
        self.clock.attach(self.loop)
        self.fs = SimFileSystem(1, now_ms=self.clock.time_ms)
        env = Env(self.clock, SeededRandom(1), self.fs)
        with patch.object(lifecycle, "ApiRegistry", _apis):
            self.broker = lifecycle.Broker(env, DATA, _config(tuple({**SETTINGS, **(settings or {})}.items())), InlineFlusher())
        self.broker.recover()
        self.context = self.broker.context
        self.logs = self.broker.logs
        self.connection = Connection()
        for name, partitions in (topics or {}).items():
            self.logs.create_topic(name, partitions)

    # -- what there is

    def log(self, topic: str, partition: int = 0) -> Log:
        found = self.logs.log(TopicPartition(topic, partition))
        assert found is not None
        return found

    def append(self, topic: str, *values: bytes, partition: int = 0, **producer: Any) -> None:
        """One batch with a record for each value, stored without asking Produce."""
        now_ms = self.clock.time_ms()
        batch = build_batch([(now_ms, None, value) for value in values], **producer)
        self.log(topic, partition).append(batch, now_ms, verified=bool(producer))

    def topic_id(self, name: str) -> Any:
        found = self.logs.topics.get(name)
        assert found is not None
        return found.topic_id

    def deny(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        """Everybody may do everything but this, and what was denied before."""
        if self.context.authorizer is None:
            made = self.context.authorizer = Authorizer(MemoryStore())
            for each in ResourceType:
                if each not in (ResourceType.UNKNOWN, ResourceType.ANY):
                    made.begin_create(made.new([_rule(each, "*", AclOperation.ALL, PermissionType.ALLOW)]), written)
        authorizer = self.context.authorizer
        authorizer.begin_create(authorizer.new([_rule(kind, name, operation, PermissionType.DENY)]), written)

    # -- requests

    def begin(self, key: ApiKey, version: int, /, *, connection: Connection | None = None, **fields: Any) -> Asked:
        """Hand in a request by its fields: lists of dicts are its items. What must wait waits."""
        body = messages.encode_request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))
        return self.begin_body(key, version, body, connection=connection)

    def begin_body(self, key: ApiKey, version: int, body: Any, *, connection: Connection | None = None) -> Asked:
        """The same with the bytes behind the header."""
        api = self.broker.apis.find(key, version)
        assert api.handle is not None
        request = memoryview(bytes(body)) if api.raw else messages.decode_request(key, version, memoryview(bytes(body)))
        ctx = RequestContext(self.context, connection or self.connection, version, "client", self.clock.time_ms())
        asked = Asked(key, version, self.run(functools.partial(api.handle, request, ctx)))
        if asked.waits:
            self.settle()
        return asked

    def ask(self, key: ApiKey, version: int, /, *, connection: Connection | None = None, **fields: Any) -> Any:
        """The decoded answer, which has to be there without time passing."""
        return self.begin(key, version, connection=connection, **fields).answer()

    # -- time

    def run(self, call: functools.partial[Any]) -> Any:
        """What `call` returns, called within the loop."""

        async def within() -> Any:
            return call()

        return self.loop.run_until_complete(within())

    def settle(self) -> None:
        """Let everything happen that needs no time."""
        self.loop.call_later(0.0005, self.loop.stop)
        self.loop.run_forever()

    def advance(self, ms: float) -> None:
        """Let time pass, and what becomes due on the way happen then."""
        end_ms = self.clock.monotonic_ms() + ms
        while (left_ms := end_ms - self.clock.monotonic_ms()) > 0:
            wait_ms = self.run(functools.partial(self.broker.tick))
            self.loop.call_later(min(left_ms, max(wait_ms, 1.0)) / 1000, self.loop.stop)
            self.loop.run_forever()
        self.run(functools.partial(self.broker.tick))
        self.settle()

    def close(self) -> None:
        self.loop.abandon()


# the same for every broker, and half of the time it takes to make one


@functools.cache
def _apis(*, unstable: bool) -> ApiRegistry:
    return ApiRegistry(unstable=unstable)


@functools.cache
def _config(settings: tuple[tuple[str, str], ...]) -> BrokerConfig:
    return load(dict(settings))


def _rule(kind: ResourceType, name: str, operation: AclOperation, permission: PermissionType) -> AclEntry:
    return AclEntry(ResourcePattern(kind, name, PatternType.LITERAL), "User:*", "*", operation, permission)
