"""Whoever takes a safeguard of exactly-once out is told by the simulation: each break here must fail within a few seeds.

A simulation that finds nothing proves something only if it would find something.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oncelog.coordinator import runtime
from oncelog.coordinator.groups.offsets.state import Offsets
from oncelog.coordinator.txn import decisions, end_txn, init_producer_id, marker_phase, recovery
from oncelog.coordinator.txn.marker_channel import LocalMarkerChannel
from oncelog.coordinator.txn.marker_phase import MarkerPhase
from oncelog.coordinator.txn.producer_ids import ProducerIds
from oncelog.coordinator.txn.service import TxnService
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.timeouts import TxnTimeouts
from oncelog.protocol.errors import ErrorCode as E
from oncelog.storage.journal.replay import NOTHING, FoundJournal
from oncelog.storage.log import producer_checks
from oncelog.storage.log.flush import FlushJob
from oncelog.storage.log.log import Log
from oncelog.storage.log.segment import Segment
from support.txn_world import lead

SEEDS = 24  # that may pass before a break is noticed
Patch = pytest.MonkeyPatch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]


def open_transactions_are_shown(patch: Patch) -> None:
    patch.setattr(Log, "last_stable_offset", property(lambda log: log.high_watermark))


def aborted_transactions_are_shown(patch: Patch) -> None:
    write = LocalMarkerChannel.write
    patch.setattr(LocalMarkerChannel, "write", lambda self, marker, *rest, **more: write(self, marker._replace(commit=True), *rest, **more))


def a_marker_is_dropped(patch: Patch) -> None:
    markers_of = marker_phase.markers_of
    patch.setattr(marker_phase, "markers_of", lambda txn: markers_of(txn)[:1])


def markers_are_written_twice(patch: Patch) -> None:
    markers_of = marker_phase.markers_of
    patch.setattr(marker_phase, "markers_of", lambda txn: [m._replace(transaction_version=0) for m in 2 * markers_of(txn)])


def fenced_instances_are_let_in(patch: Patch) -> None:
    verdict = end_txn.verdict

    def lenient(txn: Any, request: Any, **more: Any) -> Any:
        return verdict(txn, request if txn is None else request._replace(producer_epoch=txn.client_epoch), **more)

    patch.setattr(end_txn, "verdict", lenient)
    patch.setattr(decisions, "_check_client", lambda *_: E.NONE)


def a_new_instance_gets_the_epoch_of_the_old(patch: Patch) -> None:
    renewed = init_producer_id.renewed

    def same(txn: Any, *rest: Any, **more: Any) -> Any:
        made = renewed(txn, *rest, **more)
        return made and made._replace(producer_epoch=txn.producer_epoch)

    patch.setattr(init_producer_id, "renewed", same)


def producer_ids_begin_again_after_a_restart(patch: Patch) -> None:
    begin = ProducerIds.__init__
    patch.setattr(ProducerIds, "__init__", lambda self, _start, persist: begin(self, None, persist))
    patch.setattr(ProducerIds, "keep_clear_of", lambda *_: None)


def an_end_is_told_before_it_is_decided(patch: Patch) -> None:
    begin = MarkerPhase.begin

    def hasty(self: Any, id: str, prepared_at: Any, settle: Callable[[None], None], **more: Any) -> None:
        settle(None)
        begin(self, id, prepared_at, lambda _error: None, **more)

    patch.setattr(MarkerPhase, "begin", hasty)


def markers_do_not_wait_for_the_decision(patch: Patch) -> None:
    begin = MarkerPhase.begin
    patch.setattr(MarkerPhase, "begin", lambda self, id, _prepared_at, settle, **more: begin(self, id, None, settle, **more))


def batches_do_not_wait_for_the_journal(patch: Patch) -> None:
    """They get into their files before what was appended earlier to other logs is on disk."""
    append = Segment.append

    def hasty(self: Any, *what: Any) -> int:
        position = append(self, *what)
        self.put_down(0, 1 << 30)
        return position

    patch.setattr(Segment, "append", hasty)


def the_journal_is_not_replayed(patch: Patch) -> None:
    patch.setattr(FoundJournal, "of", lambda *_: NOTHING)


def a_restart_completes_nothing(patch: Patch) -> None:
    patch.setattr(recovery.TxnRecovery, "_prepared", lambda _self: [])


def a_restart_mends_nothing(patch: Patch) -> None:
    patch.setattr(recovery.TxnRecovery, "_mend", lambda _self, _found: None)


def a_restart_forgets_the_newest_record(patch: Patch) -> None:
    batches = runtime.batches
    patch.setattr(runtime, "batches", lambda log: iter(list(batches(log))[:-1]))


def offsets_of_a_transaction_are_forgotten(patch: Patch) -> None:
    end = Offsets.end_transaction
    patch.setattr(Offsets, "end_transaction", lambda self, producer_id, _commit: end(self, producer_id, False))


def retries_are_appended(patch: Patch) -> None:
    patch.setattr(producer_checks, "_find_duplicate", lambda *_: None)
    patch.setattr(producer_checks, "_check_sequence", lambda *_: None)


def open_transactions_never_time_out(patch: Patch) -> None:
    patch.setattr(TxnTimeouts, "watch", lambda *_: None)


def flushes_only_say_so(patch: Patch) -> None:
    patch.setattr(FlushJob, "run", lambda _self: None)


def partitions_are_not_added(patch: Patch) -> None:
    patch.setattr(TxnService, "admit", lambda self, id, pid, epoch, places, **_: (dict.fromkeys(places, E.NONE), None))
    patch.setattr(TxnService, "admit_one", lambda *_, **__: (E.NONE, None))


def nothing_is_ever_pending(patch: Patch) -> None:
    patch.setattr(TxnShard, "is_pending", lambda *_: False)


BREAKS = [
    open_transactions_are_shown,
    aborted_transactions_are_shown,
    a_marker_is_dropped,
    markers_are_written_twice,
    fenced_instances_are_let_in,
    a_new_instance_gets_the_epoch_of_the_old,
    producer_ids_begin_again_after_a_restart,
    an_end_is_told_before_it_is_decided,
    markers_do_not_wait_for_the_decision,
    batches_do_not_wait_for_the_journal,
    the_journal_is_not_replayed,
    a_restart_completes_nothing,
    a_restart_mends_nothing,
    a_restart_forgets_the_newest_record,
    offsets_of_a_transaction_are_forgotten,
    retries_are_appended,
    open_transactions_never_time_out,
    flushes_only_say_so,
    partitions_are_not_added,
    nothing_is_ever_pending,
]


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("spoil", BREAKS, ids=lambda spoil: spoil.__name__)
def test_break(spoil: Callable[[Patch], None], monkeypatch: Patch, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(monkeypatch)
    for each in range(seed, seed + SEEDS):
        try:
            lead(each)
        except Exception as error:
            with capsys.disabled():
                print(f"  {spoil.__name__}: seed {each}, {type(error).__name__}: {str(error).splitlines()[:1]}"[:220], flush=True)
            return
    pytest.fail(f"{SEEDS} seeds did not notice")
