"""The group coordinator on a real log in a simulated file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.state import MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer
from oncelog.coordinator.groups.offsets.service import FetchedOffset
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.coordinator.groups.service import GroupService
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat
from oncelog.coordinator.groups.streams.heartbeat import HeartbeatAnswer as StreamsAnswer
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.persister import SharePersister
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env

from support.inline import InlineFlusher, SeededRandom
from support.simfs import SimFileSystem
from support.txn_bench import HandClock

PLACE = TopicPartition("a", 0)
SUBSCRIPTION = bytes.fromhex("0001000000010001") + b"a" + bytes.fromhex("ffffffff00000000")


class Machine:
    def __init__(self, *, share: ShareGroupConfig | None = None, **settings: Any) -> None:
        self.share_config = share if share is not None else ShareGroupConfig()
        self.overrides: dict[str, dict[str, str]] = {}
        self.clock = HandClock()
        self.fs = SimFileSystem(1, self.clock.time_ms)
        self.config = GroupConfig(offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0, **settings)
        self.start()
        self.logs.create_topic("a", 2)

    def start(self) -> None:
        self.env = Env(self.clock, SeededRandom(1), self.fs)
        self.logs = LogManager(self.env, Path("/data"), LogConfig(), InlineFlusher())
        self.logs.start()
        self.persister = SharePersister(self.env, self.logs, ShareCoordinatorConfig(state_topic_num_partitions=2))
        self.persister.start()
        self.groups = GroupService(self.env, self.logs, self.config, self.share_config, self.persister)
        self.groups.overrides = lambda group_id: self.overrides.get(group_id, {})
        self.groups.start()

    def restart(self) -> None:
        """As after kill -9."""
        self.fs.kill()
        self.start()

    def after(self, ms: int) -> None:
        self.clock.now_ms += ms
        self.groups.tick(self.clock.time_ms())

    # -- shorthands

    def beat(self, member: str, epoch: int, **fields: Any) -> HeartbeatAnswer:
        if epoch == 0:
            fields = {"rebalance_timeout_ms": 5_000, "topic_names": ("a",), "owned": {}} | fields
        answer = self.groups.consumer_group_heartbeat(ConsumerHeartbeat("g", member, epoch, **fields), lambda _name: True)
        assert isinstance(answer, HeartbeatAnswer)
        return answer

    def stream(self, request: StreamsHeartbeat) -> StreamsAnswer:
        """A heartbeat of a stream thread."""
        answer = self.groups.streams_group_heartbeat(request)
        assert isinstance(answer, StreamsAnswer)
        return answer

    def join(self, member: str = "", *, new: str = "c1", protocol_type: str = "consumer") -> Any:
        request = JoinGroup(
            "g", member, None, "client", "/h", 10_000, 5_000, protocol_type, (MemberProtocol("range", SUBSCRIPTION),), new, False, True
        )
        return self.groups.join_group(request)

    def commit(self, offset: int, member: str = "", epoch: int = -1, *, version: int = 9, place: TopicPartition = PLACE) -> E:
        wanted = {place: OffsetToCommit(offset, -1, "")}
        verdicts = self.groups.offsets.commit("g", member, epoch, None, wanted, api_version=version)
        assert isinstance(verdicts, dict)
        return verdicts[place]

    def committed(self, *, stable: bool = False) -> FetchedOffset:
        found = self.groups.offsets.fetch("g", [PLACE], require_stable=stable)
        assert isinstance(found, dict)
        return found[PLACE]

    def txn_commit(self, offset: int, producer_id: int, member: str = "", epoch: int = -1) -> E:
        wanted = {PLACE: OffsetToCommit(offset, -1, "")}
        verdicts = self.groups.offsets.commit_in_transaction("g", member, epoch, None, wanted, producer_id=producer_id, producer_epoch=0)
        assert isinstance(verdicts, dict)
        return verdicts[PLACE]

    def end(self, producer_id: int, commit: bool) -> None:
        """What the transaction coordinator does: a marker in the group's partition."""
        partition = self.groups.partition_for("g")
        log = self.groups.runtime.log(partition)
        offset = log.append_marker(producer_id, 0, 0, commit, self.clock.time_ms())
        self.groups.replay_marker(partition, producer_id, 0, commit, offset)
