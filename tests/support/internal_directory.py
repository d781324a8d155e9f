"""A data directory with both coordinators on it, and what clients are told of offsets, transactions and records.

Both internal logs have four segments or more: the oldest ones compacted, then a sealed one that is not, then the active one. In them
stand offsets of a group without members, of a classic group, of a consumer group, and of transactions that committed, aborted, are open
and are prepared without their markers.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import NamedTuple

from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.requests import Heartbeat, SyncGroup
from oncelog.coordinator.groups.classic.state import MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.coordinator.groups.service import GroupService
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.persister import SharePersister
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.markers import Delivery
from oncelog.coordinator.txn.producer_ids import kept_in
from oncelog.coordinator.txn.service import TxnService
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from oncelog.protocol.records import iter_headers
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, OsFileSystem
from oncelog.storage.files.metadata_store import MetadataStore

from support.damage_sweep import ACTIVE, MIDDLE, NUMBERED, OF_PARTITION, SEALED, Damage, altered, damages_of
from support.inline import InlineFlusher, SeededRandom
from support.txn_bench import HandClock, now
from support.txn_directory import PLACE, SMALL, TxnDirectory

OFFSETS, STATE = TopicPartition(CONSUMER_OFFSETS, 0), TopicPartition(TRANSACTION_STATE, 0)
SUBSCRIPTION = bytes.fromhex("0001000000010001") + b"r" + bytes.fromhex("ffffffff00000000")
PLAIN, CLASSIC, CONSUMER, IN_TXN = "plain", "classic", "consumer", "in-txn"
GROUPS = (PLAIN, CLASSIC, CONSUMER, IN_TXN)
PARTITIONS = 6
SLOTS = {SEALED: 0, MIDDLE: -2, ACTIVE: -1}
Committed = dict[tuple[str, TopicPartition], int]
Pair = tuple[int, int]


class InternalDirectory(TxnDirectory):
    """`given`: every pair of producer id and epoch that a client was told."""

    def __init__(self, data_dir: Path, now_ms: int | None = None) -> None:
        self.data_dir = data_dir
        self.clock = HandClock()
        if now_ms is not None:
            self.clock.now_ms = now_ms
        env = Env(self.clock, SeededRandom(2), OsFileSystem())
        self.logs = LogManager(env, data_dir, LogConfig(), InlineFlusher())
        self.logs.start()
        if self.logs.topics.get(PLACE.topic) is None:
            self.logs.create_topic(PLACE.topic, PARTITIONS, dict(SMALL))
            for place in (OFFSETS, STATE):
                self.logs.create_topic(
                    place.topic, 1, {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "0"}
                )
        self.service = TxnService(env, self.logs, TxnConfig(state_log_num_partitions=1), kept_in(MetadataStore(env, data_dir)))
        persister = SharePersister(env, self.logs, ShareCoordinatorConfig(state_topic_num_partitions=1))
        config = GroupConfig(offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0)
        self.groups = GroupService(env, self.logs, config, ShareGroupConfig(), persister)
        self.service.on_offsets_marker(self.groups.replay_marker)
        self.groups.start()
        self.service.start()
        self.given: set[Pair] = set()
        self.members: dict[str, tuple[str, int]] = {PLAIN: ("", -1), IN_TXN: ("", -1)}

    def init(self, id: str | None) -> Pair:
        pair = super().init(id)
        self.given.add(pair)
        return pair

    def end(self, id: str, pair: Pair, commit: bool, *, api_version: int = 5) -> Pair:
        after = super().end(id, pair, commit, api_version=api_version)
        self.given.add(after)
        return after

    def pass_time(self, ms: int) -> None:
        self.clock.now_ms += ms
        self.service.tick(self.clock.now_ms)
        self.groups.tick(self.clock.now_ms)

    def compact(self) -> None:
        """Whatever a cleaner finds to do within a minute."""
        for _ in range(6):
            self.clock.now_ms += 15_000
            self.logs.maintenance(self.clock.now_ms)
        for log in self.logs.logs():
            log.maintain(self.clock.now_ms)

    # -- groups

    def join_classic(self) -> None:
        """A member `c1` of a classic group, which leads it and has its assignment."""
        for member in ("", "c1"):
            joined = self.groups.join_group(
                JoinGroup(
                    CLASSIC, member, None, "client", "/h", 600_000, 600_000, "consumer", (MemberProtocol("range", SUBSCRIPTION),), "c1",
                    True, True,
                )
            )  # fmt: skip
            self.pass_time(1)
        result = now(joined)
        assert result.error is ErrorCode.NONE, result
        now(self.groups.sync_group(SyncGroup(CLASSIC, result.generation_id, "c1", None, "consumer", "range", {"c1": b"assigned"})))
        self.members[CLASSIC] = "c1", result.generation_id

    def beat_classic(self) -> ErrorCode:
        return self.groups.heartbeat(Heartbeat(CLASSIC, self.members[CLASSIC][1], "c1", None))

    def beat_consumer(self) -> ErrorCode:
        """Join as the member `k1` of a consumer group, or stay; what the answer was."""
        _, epoch = self.members.get(CONSUMER, ("", 0))
        first = {"rebalance_timeout_ms": 600_000, "topic_names": (PLACE.topic,), "owned": {}} if epoch == 0 else {}
        try:
            answer = now(self.groups.consumer_group_heartbeat(ConsumerHeartbeat(CONSUMER, "k1", epoch, **first), lambda _name: True))  # type: ignore[arg-type]
        except KafkaError as refused:
            return refused.code
        self.members[CONSUMER] = "k1", answer.member_epoch
        return ErrorCode.NONE

    def commit(self, group: str, place: TopicPartition, offset: int) -> ErrorCode:
        member, generation = self.members[group]
        verdicts = now(self.groups.offsets.commit(group, member, generation, None, {place: OffsetToCommit(offset, -1, "x" * 20)}))
        return verdicts[place]

    def commit_in(self, id: str, pair: Pair, place: TopicPartition, offset: int) -> None:
        """Within a transaction."""
        verdicts, _ = self.service.admit(id, *pair, [OFFSETS], implicit_add=True)
        assert verdicts[OFFSETS] is ErrorCode.NONE, verdicts
        told = now(
            self.groups.offsets.commit_in_transaction(
                IN_TXN, "", -1, None, {place: OffsetToCommit(offset, -1, "")}, producer_id=pair[0], producer_epoch=pair[1]
            )
        )
        assert told[place] is ErrorCode.NONE, told

    def committed(self) -> Committed:
        """What OffsetFetch tells of all groups; unstable ones are told as they are committed."""
        found: Committed = {}
        for group in GROUPS:
            told = now(self.groups.offsets.fetch(group, None, require_stable=False))
            found |= {(group, place): one.offset for place, one in told.items() if one.offset >= 0}
        return found

    def stop_markers(self) -> None:
        """From here on no partition takes any."""
        self.service._channel.write = lambda *_args, **_options: Delivery(ErrorCode.KAFKA_STORAGE_ERROR)  # type: ignore[method-assign]


def fill_internal(data_dir: Path) -> tuple[InternalDirectory, dict[str, Pair]]:
    """See the module; the pairs in use by transactional id."""
    made = InternalDirectory(data_dir)
    made.join_classic()
    assert made.beat_consumer() is ErrorCode.NONE
    pairs = {id: made.init(id) for id in ("t", "s", "x")}
    number = 0
    filler = b"." * 20

    def one_round() -> None:
        nonlocal number
        made.clock.now_ms += 11
        place = TopicPartition(PLACE.topic, number % PARTITIONS)
        commit_t, commit_s = number % 3 != 1, number % 4 in (0, 3)
        for group in (PLAIN, CLASSIC, CONSUMER):
            assert made.commit(group, place, 1000 + number) is ErrorCode.NONE
        made.put((b"c%03dt" if commit_t else b"a%03dt") % number + filler, pairs["t"], 0, "t")
        made.commit_in("t", pairs["t"], place, 2000 + number if commit_t else 666)
        pairs["t"] = made.end("t", pairs["t"], commit_t)
        made.put((b"c%03ds" if commit_s else b"a%03ds") % number + filler, pairs["s"], number, "s")
        made.commit_in("s", pairs["s"], TopicPartition(PLACE.topic, (number + 1) % PARTITIONS), 3000 + number if commit_s else 666)
        pairs["s"] = made.end("s", pairs["s"], commit_s, api_version=4)
        made.put(b"c%03dx" % number + filler, pairs["x"], 0, "x")
        pairs["x"] = made.end("x", pairs["x"], True)
        if number % 4 == 0:  # never heard of again
            once, place = f"y{number:02}", TopicPartition(PLACE.topic, 100 + number)
            assert made.commit(PLAIN, place, number) is ErrorCode.NONE
            pairs[once] = made.init(once)
            made.put(b"c%03dy" % number + filler, pairs[once], 0, once)
            made.commit_in(once, pairs[once], place, number)
            pairs[once] = made.end(once, pairs[once], True)
        number += 1

    for _ in range(24):
        one_round()
    made.compact()
    before = {place: len(made.log(place).segments) for place in (OFFSETS, STATE)}
    while any(len(made.log(place).segments) < count + 2 for place, count in before.items()):
        one_round()
    while not all(800 < made.log(place).active_segment.size < 2300 for place in (OFFSETS, STATE)):
        one_round()
    pairs["open"] = made.init("open")
    made.put(b"o" + filler, pairs["open"], 0, "open")
    made.commit_in("open", pairs["open"], PLACE, 667)
    pairs["prepared"] = made.init("prepared")
    made.put(b"q" + filler, pairs["prepared"], 0, "prepared")
    made.commit_in("prepared", pairs["prepared"], TopicPartition(PLACE.topic, 1), 4000)
    made.stop_markers()
    pairs["prepared"] = made.end("prepared", pairs["prepared"], True)
    assert all(len(made.log(place).segments) >= 3 for place in (OFFSETS, STATE))
    return made, pairs


class Hit(NamedTuple):
    """Ranges of offsets [first, end) whose batches were damaged."""

    place: TopicPartition
    ranges: list[tuple[int, int]]

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and any(first <= offset < end for first, end in self.ranges)


def internal_damages() -> list[tuple[TopicPartition, Damage]]:
    """Of the files of both partitions."""
    numbered = [(suffix, slot) for suffix in NUMBERED for slot in SLOTS]
    found = list(damages_of([*numbered, *((file, "") for file in OF_PARTITION)]))
    return [(place, damage) for place in (STATE, OFFSETS) for damage in found]


def inflict_on(place: TopicPartition, damage: Damage, data_dir: Path, seed: int) -> Hit | None:
    """None when there is nothing to be damaged, or it is as before."""
    folder = data_dir / str(place)
    stems = [log.stem for log in sorted(folder.glob("*.log")) if log.stat().st_size]
    path = folder / (f"{stems[SLOTS[damage.slot]]}.{damage.file}" if damage.slot else damage.file)
    hit = altered(path, damage, Random(f"{place} {damage.name} {seed}")) if path.exists() else None
    if hit is None:
        return None
    before, begin, end = hit
    if damage.file != "log":
        return Hit(place, [])
    ranges = [
        (header.base_offset, header.next_offset)
        for position, header in iter_headers(before)
        if position < end and begin < position + header.size_bytes
    ]
    return Hit(place, ranges)
