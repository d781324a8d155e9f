"""The marker phase: a decided transaction is carried to its partitions and completed.

No marker may be on disk without the Prepare. Where the journal sees to that all markers and the Complete record are written at once, in
that order, else as soon as Prepare is durable. Whoever asked is told when all of it is durable, so that the next transaction never meets
the last one. Until then the id is pending (51 to everybody).
The markers of a transaction over many partitions are written in several turns; a start, which serves nobody yet, writes them at once.
A partition that cannot take its marker now does not change the decision: the client is told, and delivery goes on by a timer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from oncelog.coordinator.runtime import CoordinatorRuntime, LogPosition
from oncelog.coordinator.txn.decisions import TxnDecisions
from oncelog.coordinator.txn.markers import Marker, MarkerChannel, markers_of
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition

MARKERS_A_TURN = 50  # each costs the loop up to 0.3 ms, where nobody has written to the partition
NEXT_TURN_MS = 1
RETRY_MS = 100
MAX_RETRY_MS = 10_000

_log = logging.getLogger(__name__)


class _Ending:
    """One transaction between its Prepare and its Complete record being durable."""

    __slots__ = (
        "a_turn",
        "decided",
        "done",
        "look_since_ms",
        "lost",
        "outstanding",
        "refused",
        "remaining",
        "retry_ms",
        "settle",
        "settled",
    )

    def __init__(self, settle: Callable[[KafkaError | None], None], look_since_ms: int | None, a_turn: int | None) -> None:
        self.settle = settle
        self.settled = False
        self.decided: bool | None = None  # is the Prepare durable? False: it never will be
        self.done = False  # to be told once it is
        self.look_since_ms = look_since_ms
        self.a_turn = a_turn
        self.retry_ms = RETRY_MS
        self.remaining: list[Marker] = []
        self.refused: list[Marker] = []  # by their partitions, for now
        self.outstanding = 1  # markers that are written and not durable yet, and the Complete record
        self.lost = False

    def tell(self, error: KafkaError | None) -> None:
        if error is None and not self.decided:
            self.done = True
        elif not self.settled:
            self.settled = True
            self.settle(error)


class MarkerPhase:
    """Everything between Prepare and Complete. `when_durable(partition, offset, callback)` is that of a data log."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TxnShard],
        decisions: TxnDecisions,
        channel: MarkerChannel,
        when_durable: Callable[[TopicPartition, int, Callable[[KafkaError | None], None]], None],
    ) -> None:
        self._runtime = runtime
        self._decisions = decisions
        self._channel = channel
        self._when_durable = when_durable
        self._endings: dict[str, _Ending] = {}

    def remaining(self, transactional_id: str) -> frozenset[TopicPartition] | None:
        """Partitions still without their marker; None when the id is not in this phase."""
        ending = self._endings.get(transactional_id)
        return None if ending is None else frozenset(marker.topic_partition for marker in (*ending.remaining, *ending.refused))

    def begin(
        self,
        transactional_id: str,
        prepared_at: LogPosition | None,
        settle: Callable[[KafkaError | None], None],
        *,
        careful: bool = False,
        at_once: bool = False,
    ) -> None:
        """The Prepare record was replayed; `settle` is called once, when everything is durable or the decision at least is.

        `careful`: some of the markers may be there already. `at_once`: nobody waits for his turn.
        """
        shard = self._runtime.shard_of(transactional_id)
        shard.set_pending(transactional_id)
        txn = shard.transactions[transactional_id]
        ending = self._endings[transactional_id] = _Ending(
            settle, txn.last_update_timestamp_ms if careful else None, None if at_once else MARKERS_A_TURN
        )
        ending.remaining = markers_of(txn)

        ahead = prepared_at is not None and self._runtime.in_order(prepared_at)

        def decided(error: KafkaError | None) -> None:
            ending.decided = error is None
            if error is not None:  # the log is offline: what became of the decision is known after a restart
                _log.error("transaction undecided transactional_id=%s error=%s", transactional_id, error)
                ending.tell(error)
            elif not ahead:
                self._begin_writing(transactional_id, ending)
            elif ending.done:
                ending.tell(None)

        if prepared_at is None:
            decided(None)
            return
        self._runtime.when_durable(prepared_at, decided)
        if ahead:
            self._begin_writing(transactional_id, ending)

    def _begin_writing(self, transactional_id: str, ending: _Ending) -> None:
        if ending.a_turn is not None and len(ending.remaining) > ending.a_turn:
            self._next_turn(transactional_id, ending)  # what was decided for so many has taken its time
        else:
            self._advance(transactional_id, ending)

    def _advance(self, transactional_id: str, ending: _Ending) -> None:
        if ending.decided is False:
            return
        now_ms = self._runtime.now_ms()
        markers = ending.remaining[: ending.a_turn]
        ending.remaining = ending.remaining[len(markers) :]

        def durable(error: KafkaError | None) -> None:
            self._durable(transactional_id, ending, error)

        for marker in markers:
            delivery = self._channel.write(marker, now_ms, unless_since_ms=ending.look_since_ms)
            if delivery.retry:
                ending.refused.append(marker)
            elif delivery.end_offset is not None:
                ending.outstanding += 1
                self._when_durable(marker.topic_partition, delivery.end_offset, durable)
        if ending.remaining:
            self._next_turn(transactional_id, ending)
            return
        ending.remaining, ending.refused = ending.refused, []
        if left := ending.remaining:
            _log.warning("markers delayed transactional_id=%s partitions=%d first=%s", transactional_id, len(left), left[0].topic_partition)
            self._retry_later(transactional_id, ending)
            return
        try:
            written = self._runtime.write(transactional_id, lambda shard, now_ms: self._decisions.complete(shard, transactional_id, now_ms))
        except KafkaError as error:
            _log.warning("completion delayed transactional_id=%s error=%s", transactional_id, error)
            self._retry_later(transactional_id, ending)
            return
        if written.position is None:
            durable(None)
        else:
            self._runtime.when_durable(written.position, durable)

    def _next_turn(self, transactional_id: str, ending: _Ending) -> None:
        self._runtime.schedule(self._runtime.now_ms() + NEXT_TURN_MS, lambda _now_ms: self._advance(transactional_id, ending))

    def _retry_later(self, transactional_id: str, ending: _Ending) -> None:
        self._runtime.schedule(self._runtime.now_ms() + ending.retry_ms, lambda now_ms: self._advance(transactional_id, ending))
        ending.retry_ms = min(2 * ending.retry_ms, MAX_RETRY_MS)
        ending.tell(None)  # decided and durable: the client need not wait for it

    def _durable(self, transactional_id: str, ending: _Ending, error: KafkaError | None) -> None:
        """A marker or the Complete record is durable, or never will be."""
        ending.outstanding -= 1
        if error is not None:
            _log.error("marker or completion lost transactional_id=%s error=%s", transactional_id, error)
            ending.lost = True
        if ending.outstanding > 0:
            return
        if not ending.lost:
            del self._endings[transactional_id]
            self._runtime.shard_of(transactional_id).clear_pending(transactional_id)
        # else a restart writes again what is missing, and the id stays pending until then: the record of its next transaction
        # would hide how this one ended
        ending.tell(None)
