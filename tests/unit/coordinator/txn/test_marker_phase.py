"""From the decision to the last marker: who is told to wait, what deleted topics and failing disks do."""

from __future__ import annotations

import asyncio

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.txn.marker_phase import MARKERS_A_TURN, NEXT_TURN_MS, RETRY_MS
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from support.memory_logs import MemoryLogs
from support.txn_bench import TIMEOUT_MS, Bench
from support.txn_cases import Q, a


def test_case_42_deleted_topic_completes(bench: Bench) -> None:
    bench.logs.create_topic("gone", 1)
    bench.init()
    bench.add((P, 0), 0, topic="gone")
    bench.add((P, 0), 0)
    bench.logs.delete_topic("gone")
    assert bench.end((P, 0), commit=True).error is E.NONE
    assert bench.brief()[0] == "CompleteCommit"


def test_partition_that_cannot_take_its_marker_delays_only_the_marker(bench: Bench) -> None:
    bench.init()
    bench.produce((P, 0), 0, 1)
    bench.logs.at("a", 1).fail_with = E.NOT_LEADER_OR_FOLLOWER
    assert bench.end((P, 0), commit=True).error is E.NONE  # decided, and durable
    assert bench.service.describe("t").partitions == a(1)
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS
    bench.logs.at("a", 1).fail_with = None
    bench.advance(100)
    assert bench.brief()[0] == "CompleteCommit"
    assert [len(bench.logs.at("a", n).markers()) for n in (0, 1)] == [1, 1]


@pytest.mark.parametrize("refusing", [None, 3, MARKERS_A_TURN + 3])
def test_markers_of_many_partitions_take_turns(bench: Bench, refusing: int | None) -> None:
    many = 2 * MARKERS_A_TURN + 10
    bench.logs.create_topic("wide", many)
    bench.init()
    assert bench.add((P, 0), *range(many), topic="wide") is E.NONE
    for n in range(many):
        bench.logs.at("wide", n).write(P, 0)
    if refusing is not None:
        bench.logs.at("wide", refusing).fail_with = E.NOT_LEADER_OR_FOLLOWER

    def marked() -> int:
        return sum(len(bench.logs.at("wide", n).markers()) for n in range(many))

    reply = bench.service.end_txn("t", P, 0, True, api_version=5)
    seen = [marked()]
    while bench.brief()[0] != "CompleteCommit" and len(seen) < 5:
        assert bench.init().error is E.CONCURRENT_TRANSACTIONS
        bench.advance(NEXT_TURN_MS)
        seen.append(marked())
    assert all(later - earlier <= MARKERS_A_TURN for earlier, later in zip([0, *seen], seen, strict=False))
    if refusing is not None:
        bench.logs.at("wide", refusing).fail_with = None
        bench.advance(RETRY_MS)
    assert bench.brief()[0] == "CompleteCommit"
    assert [len(bench.logs.at("wide", n).markers()) for n in range(many)] == [1] * many
    assert (reply.result() if isinstance(reply, Deferred) else reply).error is E.NONE


def held() -> Bench:
    logs = MemoryLogs(holds_syncs=True)
    logs.create_topic("a", 4)
    return Bench(logs)


async def begun(bench: Bench) -> None:
    reply = bench.service.init_producer_id("t", TIMEOUT_MS)
    assert isinstance(reply, Deferred)
    assert bench.init().error is E.CONCURRENT_TRANSACTIONS  # case 17
    assert bench.add((P, 0), 0) is E.CONCURRENT_TRANSACTIONS
    bench.logs.flush()
    assert reply.result().producer_epoch == 0
    verdicts, position = bench.service.admit("t", P, 0, a(0, 1), implicit_add=True)
    assert set(verdicts.values()) == {E.NONE}
    assert position is not None
    for partition in (0, 1):
        bench.logs.at("a", partition).write(P, 0)
    durable: list[object] = []
    bench.service.when_durable(position, durable.append)
    assert not durable
    bench.logs.flush()
    assert durable == [None]


def test_case_17_25_35_everybody_is_told_51_until_all_of_it_is_durable() -> None:
    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=5)
        assert isinstance(reply, Deferred)
        assert bench.txn().state is S.PREPARE_COMMIT
        assert not bench.logs.at("a").markers()  # no marker may outlive its Prepare
        for _ in range(2):
            for pair, commit, version in [((P, 0), True, 5), ((P, 0), False, 5), ((P, 1), False, 5), ((Q, 9), True, 5), ((P, 1), True, 3)]:
                assert bench.end(pair, commit, version).error is E.CONCURRENT_TRANSACTIONS
            assert bench.init().error is E.CONCURRENT_TRANSACTIONS  # case 13
            assert bench.add((P, 1), 0) is E.CONCURRENT_TRANSACTIONS  # case 25
            assert bench.admit((P, 1), 2) is E.CONCURRENT_TRANSACTIONS  # case 65
            assert not reply.done
            bench.service.runtime.log(bench.service.runtime.partition_for("t")).flush()
        assert bench.txn().state is S.COMPLETE_COMMIT
        assert bench.end((P, 0), commit=False, version=3).error is E.PRODUCER_FENCED  # v3 looks at the epoch first
        bench.logs.flush()
        assert reply.result().producer_epoch == 1
        assert not bench.service.runtime.shard_of("t").is_pending("t")

    asyncio.run(scenario())


def test_failed_sync_of_the_decision_is_no_success() -> None:
    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=5)
        assert isinstance(reply, Deferred)
        bench.service.runtime.log(bench.service.runtime.partition_for("t")).break_disk()
        assert reply.result().error is E.NOT_COORDINATOR
        assert bench.end((P, 0), commit=True).error is E.CONCURRENT_TRANSACTIONS
        assert not bench.logs.at("a").markers()

    asyncio.run(scenario())


@pytest.mark.parametrize("deleted", [False, True])
def test_a_marker_lost_by_the_disk_keeps_the_id_pending_till_the_next_start(deleted: bool) -> None:
    """The client is told what was decided; its next transaction would hide from the next start that this one was committed."""

    async def scenario() -> None:
        bench = held()
        await begun(bench)
        reply = bench.service.end_txn("t", P, 0, True, api_version=3)
        assert isinstance(reply, Deferred)
        bench.service.runtime.log(bench.service.runtime.partition_for("t")).flush()
        written = bench.logs.at("a", 1)
        assert [marker.commit for marker in written.markers()] == [True]
        if deleted:  # then nothing is missing
            bench.logs.delete_topic("a")
        written.break_disk()
        bench.logs.flush()
        if deleted:
            for log in bench.logs.deleted:
                log.flush()
        assert reply.result().error is E.NONE
        assert bench.service.runtime.shard_of("t").is_pending("t") is not deleted
        assert bench.end((P, 0), commit=True, version=3).error is (E.NONE if deleted else E.CONCURRENT_TRANSACTIONS)

    asyncio.run(scenario())
