"""Members of very many groups over raw connections: classic (JoinGroup, SyncGroup, Heartbeat) and of the consumer protocol (KIP-848)."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from tests.bench import load

JOIN, SYNC, HEARTBEAT, CONSUMER = 5, 3, 3, 0
_TOPIC = "scale-groups"
_SUBSCRIPTION = struct.pack(">hih", 0, 1, len(_TOPIC)) + _TOPIC.encode() + struct.pack(">i", -1)
_ASSIGNMENT = struct.pack(">hi", 0, 0) + struct.pack(">i", -1)
_SESSION_MS = 60_000
_RETRIABLE = (14, 15, 16, 27)  # loading, not available, not coordinator, rebalance in progress
_MEMBER_ID_REQUIRED = 79


class Refused(Exception):
    """An answer with an error."""


class Member:
    """One member on a connection of its own."""

    def __init__(self, port: int, group: str) -> None:
        self._port = port
        self._group = group
        self._id = ""
        self._generation = -1
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def _ask(self, key: ApiKey, version: int, request: Any) -> Any:
        assert self._reader is not None
        assert self._writer is not None
        self._writer.write(load.frame(key, version, request))
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        answer = memoryview(await self._reader.readexactly(length))
        return messages.decode_response(key, version, answer[5 if messages.is_flexible(key, version) else 4 :])

    async def join(self) -> None:
        """Until the group is stable with this member in it."""
        while True:
            code = await self._join_once()
            if code == 0:
                return
            if code not in (*_RETRIABLE, _MEMBER_ID_REQUIRED, 22):
                raise Refused(f"JoinGroup or SyncGroup: {code}")
            if code != _MEMBER_ID_REQUIRED:
                await asyncio.sleep(0.1)

    async def _join_once(self) -> int:
        request = messages.JoinGroupRequest
        asked = request(
            group_id=self._group,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_SESSION_MS,
            member_id=self._id,
            group_instance_id=None,
            protocol_type="consumer",
            protocols=[request.JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION)],
        )
        joined = await self._ask(ApiKey.JOIN_GROUP, JOIN, asked)
        self._id, self._generation = joined.member_id, joined.generation_id
        if joined.error_code:
            return int(joined.error_code)
        sync = messages.SyncGroupRequest
        shares = [sync.SyncGroupRequestAssignment(member_id=one.member_id, assignment=_ASSIGNMENT) for one in joined.members]
        asked = sync(group_id=self._group, generation_id=self._generation, member_id=self._id, group_instance_id=None, assignments=shares)
        return int((await self._ask(ApiKey.SYNC_GROUP, SYNC, asked)).error_code)

    async def heartbeat(self) -> int:
        asked = messages.HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._id, group_instance_id=None)
        return int((await self._ask(ApiKey.HEARTBEAT, HEARTBEAT, asked)).error_code)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class ConsumerMember(Member):
    """A member of the consumer protocol."""

    async def join(self) -> None:
        while (code := await self._beat(0)) != 0:
            if code not in _RETRIABLE:
                raise Refused(f"ConsumerGroupHeartbeat: {code}")
            await asyncio.sleep(0.1)

    async def heartbeat(self) -> int:
        return await self._beat(self._generation)

    async def _beat(self, epoch: int) -> int:
        first = epoch == 0
        asked = messages.ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._id,
            member_epoch=epoch,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=_SESSION_MS if first else -1,
            subscribed_topic_names=[_TOPIC] if first else None,
            server_assignor=None,
            topic_partitions=[] if first else None,
        )
        answer = await self._ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, CONSUMER, asked)
        if answer.error_code == 0:
            self._id, self._generation = answer.member_id or self._id, answer.member_epoch
        return int(answer.error_code)


class Groups:
    """`count` groups of `size` members each, on an event loop of their own."""

    def __init__(self, port: int, kind: type[Member], count: int, size: int) -> None:
        self._runner = asyncio.Runner()
        prefix = uuid.uuid4().hex[:6]
        self.members = [kind(port, f"{prefix}-{group}") for group in range(count) for _ in range(size)]

    def connect(self) -> None:
        self._runner.run(_in_turn([member.connect for member in self.members], 50))

    def join(self) -> float:
        """Seconds until all groups are stable."""
        begin = time.perf_counter()
        self._runner.run(_in_turn([member.join for member in self.members], len(self.members)))
        return time.perf_counter() - begin

    def heartbeats(self, seconds: float) -> int:
        """How many were answered, each member sending the next one when the last is answered."""

        async def beat() -> int:
            stop = time.perf_counter() + seconds

            async def one(member: Member) -> int:
                count = 0
                while time.perf_counter() < stop:
                    await member.heartbeat()
                    count += 1
                return count

            return sum(await asyncio.gather(*(one(member) for member in self.members)))

        return self._runner.run(beat())

    def close(self) -> None:
        for member in self.members:
            member.close()
        self._runner.close()


async def _in_turn(calls: Sequence[Any], at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def run(call: Any) -> None:
        async with gate:
            await call()

    await asyncio.gather(*(run(call) for call in calls))


@contextlib.contextmanager
def groups(port: int, kind: type[Member], count: int, size: int) -> Iterator[Groups]:
    made = Groups(port, kind, count, size)
    try:
        yield made
    finally:
        made.close()


TOPIC = _TOPIC
