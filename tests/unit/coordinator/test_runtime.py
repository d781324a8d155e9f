"""Decide, append, replay, reply: in that order, or not at all."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.env import Env
from support.inline import SeededRandom
from support.memory_logs import MemoryLogs
from support.txn_bench import HandClock


class Words:
    """A shard that remembers everything it was told, in order."""

    newest_record_wins = False

    def __init__(self, partition: int) -> None:
        self.told: list[tuple[object, ...]] = []

    def replay(
        self,
        key: bytes,
        value: bytes | None,
        *,
        offset: int,
        producer_id: int,
        producer_epoch: int,
        timestamp_ms: int,
        content: object = None,
    ) -> None:
        self.told.append((key, value, offset, producer_id, producer_epoch, timestamp_ms))

    def replay_marker(self, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        self.told.append(("marker", producer_id, producer_epoch, commit, offset))


def runtime(logs: MemoryLogs, partitions: int = 3) -> CoordinatorRuntime[Words]:
    env = Env(HandClock(1000), SeededRandom(1), cast(Any, None))
    made = CoordinatorRuntime(env, cast(Any, logs), "__words", partitions, {"cleanup.policy": "compact"}, Words)
    made.load()
    return made


def say(*words: bytes) -> Any:
    return lambda shard, now_ms: Result(len(words), tuple(CoordinatorRecord(word, b"v") for word in words))


def test_topic_is_created_by_the_first_write_and_keeps_its_partitions() -> None:
    logs = MemoryLogs()
    first = runtime(logs)
    assert first.submit("x", lambda shard, now_ms: Result("read")) == "read"
    assert logs.topics.get("__words") is None
    assert first.submit("x", say(b"one")) == 1
    assert logs.topics.get("__words") is not None
    assert runtime(logs, partitions=7).partitions == 3


def test_live_state_is_the_state_after_loading() -> None:
    logs = MemoryLogs()
    live = runtime(logs)
    for n in range(20):
        live.submit(f"id-{n}", say(b"a%d" % n, b"b%d" % n), producer=(5, n) if n % 2 else None)
    partition = live.partition_for("id-3")
    offset = logs.at("__words", partition).append_marker(5, 99, 0, True, 1000)
    live.replay_marker(partition, 5, 99, True, offset)
    loaded = runtime(logs)
    assert [shard.told for shard in loaded.shards()] == [shard.told for shard in live.shards()]


def test_loading_may_pass_over_all_but_the_newest_record_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = MemoryLogs()
    live = runtime(logs, partitions=1)
    for word in (b"a", b"b", b"a", b"c", b"b"):
        live.submit("x", say(word))
    everything = live.shard(0).told
    monkeypatch.setattr(Words, "newest_record_wins", True)
    loaded = runtime(logs)
    assert sorted(loaded.shard(0).told) == sorted(everything[2:])
    assert {key for key, *_ in loaded.shard(0).told} == {b"a", b"b", b"c"}


def test_failed_append_leaves_the_shard_alone() -> None:
    logs = MemoryLogs()
    live = runtime(logs)
    live.submit("x", say(b"one"))
    live.log(live.partition_for("x")).fail_with = ErrorCode.NOT_ENOUGH_REPLICAS  # type: ignore[attr-defined]
    with pytest.raises(KafkaError) as refused:
        live.submit("x", say(b"two"))
    assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(live.shard_of("x").told) == 1


def test_loading_refuses() -> None:
    env = Env(HandClock(), SeededRandom(1), cast(Any, None))
    unloaded = CoordinatorRuntime(env, cast(Any, MemoryLogs()), "__words", 3, {}, Words)
    with pytest.raises(KafkaError) as refused:
        unloaded.submit("x", say(b"one"))
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_answers_wait_for_the_disk_reads_too() -> None:
    async def scenario() -> None:
        logs = MemoryLogs(holds_syncs=True)
        live = runtime(logs)
        written = live.submit("x", say(b"one"))
        read = live.submit("x", lambda shard, now_ms: Result(len(shard.told)))
        assert isinstance(written, Deferred)
        assert isinstance(read, Deferred)
        await asyncio.sleep(0)
        assert not read.done
        logs.flush()
        assert (written.result(), read.result()) == (1, 1)
        assert live.submit("x", lambda shard, now_ms: Result("now")) == "now"

    asyncio.run(scenario())


def test_broken_disk_fails_the_answer() -> None:
    async def scenario() -> None:
        logs = MemoryLogs(holds_syncs=True)
        live = runtime(logs)
        written = live.submit("x", say(b"one"))
        assert isinstance(written, Deferred)
        logs.at("__words", live.partition_for("x")).break_disk()
        with pytest.raises(KafkaError) as failed:
            written.result()
        assert failed.value.code is ErrorCode.NOT_COORDINATOR

    asyncio.run(scenario())


def test_effects_run_after_the_replay() -> None:
    live = runtime(MemoryLogs())
    seen: list[int] = []
    live.submit("x", lambda shard, now_ms: Result(None, (CoordinatorRecord(b"k", None),), (lambda: seen.append(len(shard.told)),)))
    assert seen == [1]
