"""Damage takes the newest records of ids: what the oldest ones say is never carried out upon what came after."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from oncelog.storage.files.twin_file import COPY
from oncelog.storage.recovery.doubts import DOUBTS_FILE
from support.memory_logs import MemoryLogs
from support.txn_bench import TIMEOUT_MS, Bench

COMMIT, ABORT = True, False


def damaged(bench: Bench, lost: range, *, acknowledged: bool = True) -> MemoryLogs:
    """What is left when the records of the id that stand at `lost` among its own are gone."""
    own = TopicPartition(TRANSACTION_STATE, bench.service.runtime.partition_for("t"))
    kept, seen = [], 0
    for place, batch in bench.logs.journal:
        if place != own or seen not in lost:
            kept.append((place, batch))
        seen += place == own
    left = bench.logs.rebuilt(kept)
    left.at(*own).segments.damaged = True
    left.at(*own).segments.lost_acknowledged = acknowledged
    return left


def write(bench: Bench, pair: tuple[int, int], version: int, *partitions: int) -> None:
    """Transactional data, as clients of EndTxn `version` send it."""
    bench.advance(5)
    if version == 5:
        bench.produce(pair, *partitions)
        return
    assert bench.add(pair, *partitions) is E.NONE
    for partition in partitions:
        bench.logs.at("a", partition).write(*pair, bench.clock.now_ms)


def two_transactions(
    version: int, epoch: int, commit: bool, first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[Bench, tuple[int, int]]:
    """The first one is ended, the second one open; its pair. The records of the id: Empty twice, Ongoing, Prepare, Complete, Ongoing."""
    bench = Bench()
    bench.force(S.EMPTY, epoch)
    write(bench, (P, epoch), version, *first)
    bench.advance(5)
    ended = bench.end((P, epoch), commit, version)
    assert ended.error is E.NONE
    pair = (ended.producer_id, ended.producer_epoch)
    write(bench, pair, version, *second)
    return bench, pair


def ends(logs: MemoryLogs, partition: int) -> list[bool]:
    return [marker.commit for marker in logs.at("a", partition).markers()]


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
@pytest.mark.parametrize("second", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize(("version", "epoch"), [(3, 0), (5, 0), (5, 32766)])
def test_a_running_transaction_is_never_ended_by_the_decision_about_the_one_before(
    version: int, epoch: int, second: tuple[int, ...], commit: bool
) -> None:
    """Complete and the next Ongoing record are gone; Prepare is the newest one left."""
    bench, pair = two_transactions(version, epoch, commit, (0, 1), second)
    again = bench.restart(damaged(bench, range(4, 99)))
    for partition in range(4):
        assert ends(again.logs, partition) == [commit] * (partition in (0, 1)) + [ABORT] * (partition in second), partition
    assert not any(log.open_transactions() for log in again.logs.logs())
    assert again.add(pair, 3) in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_ID_MAPPING)
    assert again.init().error is E.NONE


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
@pytest.mark.parametrize("second", [(0,), (2,), (0, 1, 2)])
@pytest.mark.parametrize(("version", "epoch"), [(3, 0), (5, 0), (5, 32766)])
def test_nor_by_its_complete_record(version: int, epoch: int, second: tuple[int, ...], commit: bool) -> None:
    """Only the Ongoing record is gone. By its epoch a transaction may be known for the id's own, and goes on."""
    bench, pair = two_transactions(version, epoch, commit, (0, 1), second)
    again = bench.restart(damaged(bench, range(5, 99)))
    goes_on = version == 5
    for partition in range(4):
        expected = [commit] * (partition in (0, 1)) + [ABORT] * (partition in second and not goes_on)
        assert ends(again.logs, partition) == expected, partition
    if goes_on:
        assert again.txn().state is S.ONGOING
        assert again.end(pair, COMMIT).error is E.NONE
        assert [ends(again.logs, partition)[-1] for partition in second] == [COMMIT] * len(second)
    else:
        assert again.add(pair, 3) is E.PRODUCER_FENCED
        assert not any(log.open_transactions() for log in again.logs.logs())


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("missing", [(0,), (1,), (0, 1)])
def test_what_was_decided_is_carried_out_though_a_tail_is_torn(version: int, missing: tuple[int, ...], complete: bool) -> None:
    """A power cut took markers of the only transaction, and tore a record that nobody was told of."""
    bench = Bench()
    bench.init()
    write(bench, (P, 0), version, 0, 1)
    bench.advance(5)
    bench.end((P, 0), COMMIT, version)
    cut = damaged(bench, range(4 if complete else 3, 99), acknowledged=False)
    for partition in missing:
        place = TopicPartition("a", partition)
        cut.journal.remove([entry for entry in cut.journal if entry[0] == place][-1])
    left = cut.rebuilt(cut.journal)
    left.at(TRANSACTION_STATE, bench.service.runtime.partition_for("t")).segments.damaged = True
    again = bench.restart(left)
    assert [ends(again.logs, partition) for partition in (0, 1)] == [[COMMIT], [COMMIT]]


def test_an_epoch_that_was_only_handed_out_is_not_given_to_another() -> None:
    bench = Bench()
    assert [bench.init().producer_epoch for _ in range(3)] == [0, 1, 2]
    again = bench.restart(damaged(bench, range(1, 99)))
    renewed = again.init()
    assert (renewed.error, renewed.producer_epoch) == (E.NONE, 0)
    assert renewed.producer_id != P
    assert again.add((P, 1), 0) is E.INVALID_PRODUCER_ID_MAPPING
    assert again.init().producer_id == renewed.producer_id, "once is enough"


def test_nor_is_it_to_a_producer_that_brings_its_pair() -> None:
    bench = Bench()
    bench.init()
    assert bench.init(pair=(P, 0)).producer_epoch == 1
    again = bench.restart(damaged(bench, range(1, 99)))
    renewed = again.init(pair=(P, 0))
    assert (renewed.error, renewed.producer_epoch) == (E.NONE, 0)
    assert renewed.producer_id != P


def test_the_start_after_the_next_still_knows_which_epochs_may_be_taken() -> None:
    bench = Bench()
    assert [bench.init().producer_epoch for _ in range(2)] == [0, 1]
    once = bench.restart(damaged(bench, range(1, 99)))
    again = once.restart()
    assert again.init().producer_id != P
    assert again.restart().init().producer_epoch == 1, "once is enough"


@pytest.mark.parametrize("starts", [1, 2])
def test_nor_is_it_given_to_who_ends_a_transaction(starts: int) -> None:
    """The instance that was initialized last has (P, 1), of which nothing is left; the zombie at (P, 0) must not get it too."""
    bench = Bench()
    assert [bench.init().producer_epoch for _ in range(2)] == [0, 1]
    again = bench.restart(damaged(bench, range(1, 99)))
    for _ in range(starts - 1):
        again = again.restart()
    write(again, (P, 0), 5, 0)
    ended = again.end((P, 0), COMMIT)
    assert (ended.error, ended.producer_epoch) == (E.NONE, 0)
    assert ended.producer_id != P
    assert ends(again.logs, 0) == [COMMIT]
    assert again.end((P, 0), COMMIT).producer_id == ended.producer_id, "asked again"
    assert again.admit((P, 1), 1) is not E.NONE


def test_doubts_that_are_lost_too_concern_everybody(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.init()
    again = bench.restart(damaged(bench, range(1, 99)))
    folder = again.logs.at(TRANSACTION_STATE, again.service.runtime.partition_for("t")).folder
    for name in (DOUBTS_FILE, DOUBTS_FILE + COPY):
        again.logs.fs.write_atomic(folder / name, b"garbage")
    caplog.clear()
    third = again.restart()
    assert len([record for record in caplog.records if DOUBTS_FILE in record.getMessage()]) == 1
    caplog.clear()
    fourth = third.restart()
    assert not caplog.records
    assert fourth.init().producer_id != P


def test_a_start_that_did_not_come_so_far_leaves_it_to_the_next() -> None:
    """It took the damage out of the log and died."""
    bench = Bench()
    assert [bench.init().producer_epoch for _ in range(2)] == [0, 1]
    left = damaged(bench, range(1, 99))
    own = left.at(TRANSACTION_STATE, bench.service.runtime.partition_for("t"))
    own.segments.damaged = own.segments.lost_acknowledged = False
    left.fs.mkdir(own.folder)
    left.fs.write_atomic(own.folder / "quarantine-00000000000000000000-0-1", b"")
    again = bench.restart(left)
    assert again.restart().init().producer_id != P


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
@pytest.mark.parametrize("epoch", [0, 32766])
@pytest.mark.parametrize("version", [3, 5])
def test_the_marker_of_one_partition_tells_the_others_of_a_lost_decision(version: int, epoch: int, commit: bool, later: bool) -> None:
    """Killed in the middle of the end; the records from Prepare on are gone. Not `later`: nothing else was done."""
    if version == 3 and (epoch or later):
        return
    bench = Bench()
    bench.force(S.EMPTY, epoch) if epoch else bench.init()
    if version == 3:  # of an epoch that stays, one more has ended
        write(bench, (P, 0), 3, 0, 1)
        bench.advance(5)
        bench.end((P, 0), not commit, 3)
    before = sum(place.topic == TRANSACTION_STATE for place, _ in bench.logs.journal)
    write(bench, (P, epoch), version, 0, 1, 2)
    bench.advance(5)
    ended = bench.end((P, epoch), commit, version)
    if later and epoch == 0:
        write(bench, (P, 1), 5, 0)
        bench.end((P, 1), not commit)
    left = damaged(bench, range(before + 1, 99))
    entries = list(left.journal)
    for partition in (1, 2):
        entries.remove([entry for entry in entries if entry[0] == TopicPartition("a", partition)][-1])
    hurt = left.rebuilt(entries)
    hurt.at(TRANSACTION_STATE, bench.service.runtime.partition_for("t")).segments.damaged = True
    again = bench.restart(hurt)
    assert ended.error is E.NONE
    earlier = [not commit] if version == 3 else []
    assert ends(again.logs, 1) == [*earlier, commit]
    assert ends(again.logs, 2) == [commit]
    assert not any(log.open_transactions() for log in again.logs.logs())


def test_where_nothing_is_lost_an_id_keeps_its_producer_id() -> None:
    bench = Bench()
    bench.init()
    again = bench.restart(bench.logs.after_kill(len(bench.logs.journal)))
    assert (again.init().producer_id, again.txn().producer_epoch) == (P, 1)


@pytest.mark.parametrize("version", [5, 3])
@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_an_id_whose_newest_records_are_lost_gets_no_epoch_twice(state: S, version: int) -> None:
    """Partitions have seen later epochs; the record that damage left is of another day, whatever it says."""
    bench = Bench()
    bench.force(state, 3, last=2, partitions=(0, 1))
    old = bench.txn()
    lost = len(bench.logs.journal)
    for partition in (0, 1):
        bench.logs.at("a", partition).write(P, 7, bench.clock.now_ms)
    bench.logs.at("a", 0).append_marker(P, 7 + (version == 5), 0, True, bench.clock.now_ms)
    left = bench.logs.after_kill(len(bench.logs.journal))
    left.at("__transaction_state", bench.service.runtime.partition_for("t")).segments.damaged = True
    again = bench.restart(left)
    assert len(again.logs.journal) > lost
    assert not again.logs.at("a", 0).open_transactions()
    again.advance(TIMEOUT_MS + old.timeout_ms)
    assert not again.logs.at("a", 1).open_transactions()
    assert {marker.commit for marker in again.logs.at("a", 1).markers()} == {False}
    pair = again.init()
    while pair.error is E.CONCURRENT_TRANSACTIONS:
        pair = again.init()
    assert pair.error is E.NONE
    assert pair.producer_id != P, "epochs that were only handed out are in no partition"
