"""The transaction service: what request handlers call. It carries the coordinator's decisions out and answers when they are durable.

One process is coordinator and leader of all partitions, so a decision, its record and the append it permits happen in one
synchronous turn: between asking whether a partition belongs to a transaction and appending to it nothing can slip in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime, LogPosition, Written, coordinator_error
from oncelog.coordinator.txn import init_producer_id
from oncelog.coordinator.txn.admin_markers import AdminMarkers
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.decisions import AddPartitions, Fenced, Remember, TxnDecisions, WriteMarkers
from oncelog.coordinator.txn.end_txn import EndTxn, EndTxnResult
from oncelog.coordinator.txn.init_producer_id import InitProducerId, InitProducerIdResult
from oncelog.coordinator.txn.marker_channel import LocalMarkerChannel, OffsetsMarkerListener
from oncelog.coordinator.txn.marker_phase import MarkerPhase
from oncelog.coordinator.txn.producer_ids import ProducerIds
from oncelog.coordinator.txn.queries import (
    ListTransactionsResult,
    TransactionDescription,
    describe_transaction,
    list_transactions,
)
from oncelog.coordinator.txn.recovery import TxnRecovery
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.timeouts import TxnTimeouts
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env

T = TypeVar("T")

_log = logging.getLogger(__name__)


class TxnService:
    """`producer_ids` must be durable. Until `start()` returned every request is told that the coordinator is loading."""

    def __init__(self, env: Env, logs: LogManager, config: TxnConfig, producer_ids: ProducerIds) -> None:
        self.config = config
        self.verifies_partitions = config.partition_verification_enable  # may be altered at any time
        self.runtime: CoordinatorRuntime[TxnShard] = CoordinatorRuntime(
            env, logs, TRANSACTION_STATE, config.state_log_num_partitions, config.topic_configs(), TxnShard, base_sequence=-1
        )
        self.on_fenced: Callable[[Fenced, int | None], None] | None = None  # with the epoch that the id is at now
        self._env = env
        self._logs = logs
        self._ids = producer_ids
        self._decisions = TxnDecisions(config, self._new_producer_id)
        self._channel = LocalMarkerChannel(logs.log)
        self._markers = MarkerPhase(self.runtime, self._decisions, self._channel, self._when_log_durable)
        self._timeouts = TxnTimeouts(self.runtime, config, self._abort_timed_out, self._expire)
        self._admin = AdminMarkers(self.runtime, logs.log, self._channel, self._abort_for_marker)

    # -- life

    def start(self) -> None:
        """Load, hand out no producer id twice, and mend what a crash left: afterwards no transaction is half ended."""
        self.runtime.load()
        TxnRecovery(self._env.fs, self.runtime, self._decisions, self._logs, self._markers, self._channel, self._ids).run()
        self._timeouts.start()

    def on_offsets_marker(self, listener: OffsetsMarkerListener) -> None:
        """Have `listener(partition, producer_id, producer_epoch, commit, offset)` called for every marker in `__consumer_offsets`."""
        self._channel.on_offsets_marker = listener

    def tick(self, now_ms: float) -> None:
        """Carry out what is due: timeouts, expiry, delayed markers."""
        self.runtime.tick(now_ms)

    def next_deadline_ms(self) -> float | None:
        return self.runtime.next_deadline_ms()

    def on_earlier(self, listener: Callable[[float], None]) -> None:
        """Have `listener(deadline_ms)` called when something is to be done before everything else that is scheduled."""
        self.runtime.timers.on_earlier = listener

    # -- what clients ask for

    def init_producer_id(
        self,
        transactional_id: str | None,
        timeout_ms: int,
        producer_id: int = -1,
        producer_epoch: int = -1,
        *,
        enable_2pc: bool = False,
        keep_prepared: bool = False,
        client: str = "",
    ) -> Reply[InitProducerIdResult]:
        """A pair to produce with; (-1, -1) when the client has none. Without a transactional id nothing is logged."""
        request = InitProducerId(
            transactional_id=transactional_id,
            timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            enable_2pc=enable_2pc,
            keep_prepared=keep_prepared,
            client=client,
        )
        refusal = init_producer_id.refuse(request, self.config)
        if refusal is not ErrorCode.NONE:
            return InitProducerIdResult(refusal)
        if transactional_id is None:
            try:
                return InitProducerIdResult(ErrorCode.NONE, self._new_producer_id(), 0)
            except KafkaError as error:
                return InitProducerIdResult(error.code)
        return self._carry_out(
            transactional_id,
            lambda shard, now_ms: self._decisions.init_producer_id(shard, request, now_ms),
            InitProducerIdResult,
            exclusive=True,
        )

    def add_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition], *, client_version: int = 0
    ) -> Reply[ErrorCode]:
        """Add partitions to the transaction, opening one if there is none. `client_version`: 2 for requests between brokers, else 0."""
        request = AddPartitions(transactional_id, producer_id, producer_epoch, frozenset(partitions), client_version)
        try:
            written = self._write_add(request)
        except KafkaError as error:
            return error.code
        if written.response is not ErrorCode.NONE or written.position is None:
            return written.response
        deferred: Deferred[ErrorCode] = Deferred()
        self.runtime.when_durable(
            written.position, lambda error: deferred.resolve(ErrorCode.NONE if error is None else coordinator_error(error).code)
        )
        return deferred.reply()

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Per partition: NONE, TRANSACTION_ABORTABLE when it was never added, or why the producer may not ask."""
        request = AddPartitions(transactional_id, producer_id, producer_epoch, frozenset(partitions))
        if self.runtime.loading:
            return dict.fromkeys(request.partitions, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self._decisions.verify_partitions(self.runtime.shard_of(transactional_id), request)

    def end_txn(
        self, transactional_id: str, producer_id: int, producer_epoch: int, commit: bool, *, api_version: int
    ) -> Reply[EndTxnResult]:
        """Commit or abort; answered when the markers on all partitions are durable."""
        request = EndTxn(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            commit=commit,
            api_version=api_version,
        )
        if transactional_id == "":
            return EndTxnResult(ErrorCode.INVALID_REQUEST)
        return self._carry_out(transactional_id, lambda shard, now_ms: self._decisions.end_txn(shard, request, now_ms), EndTxnResult)

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        implicit_add: bool,
    ) -> tuple[dict[TopicPartition, ErrorCode], LogPosition | None]:
        """May this producer write to these partitions, now, in this turn? Verify (Produce ≤ 11) or add (`implicit_add`).

        Of a coordinator elsewhere this question would be AddPartitionsToTxn v4+, and the append would wait for its answer.
        A partition where a transaction of this pair is open already needs no question. The second value is what the answer to the
        producer has to wait for (`when_durable`). PRODUCER_FENCED is already told as INVALID_PRODUCER_EPOCH; other downgrades by
        version are the handler's.
        """
        verdicts = dict.fromkeys(partitions, ErrorCode.NONE)
        asked = [partition for partition in partitions if not self._is_open(partition, producer_id, producer_epoch)]
        if not asked or not (implicit_add or self.verifies_partitions):
            return verdicts, None
        position = None
        if implicit_add:
            try:
                written = self._write_add(AddPartitions(transactional_id, producer_id, producer_epoch, frozenset(asked), 2))
                verdicts.update(dict.fromkeys(asked, written.response))
                position = written.position if written.response is ErrorCode.NONE else None
            except KafkaError as error:
                verdicts.update(dict.fromkeys(asked, error.code))
        else:
            verdicts.update(self.verify_partitions(transactional_id, producer_id, producer_epoch, asked))
        for partition in asked:
            if verdicts[partition] is ErrorCode.PRODUCER_FENCED:
                verdicts[partition] = ErrorCode.INVALID_PRODUCER_EPOCH
        return verdicts, position

    def admit_one(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition, *, implicit_add: bool
    ) -> tuple[ErrorCode, LogPosition | None]:
        """`admit` of one partition, on which no transaction of the pair is open. What else than NONE is told there, `admit` knows."""
        if implicit_add:
            try:
                written = self._write_add(AddPartitions(transactional_id, producer_id, producer_epoch, frozenset((partition,)), 2))
            except KafkaError as error:
                return error.code, None
            return written.response, written.position if written.response is ErrorCode.NONE else None
        if not self.verifies_partitions:
            return ErrorCode.NONE, None
        return self.verify_partitions(transactional_id, producer_id, producer_epoch, (partition,))[partition], None

    def when_durable(self, handle: LogPosition, callback: Callable[[KafkaError | None], None]) -> None:
        """Call back, at once or later, when what `admit` wrote is on disk; with the error when it never will be."""
        self.runtime.when_durable(handle, lambda error: callback(error if error is None else coordinator_error(error)))

    # -- administration

    def write_marker_from_admin(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        partitions: Iterable[TopicPartition],
        *,
        transaction_version: int = 0,
        client: str = "",
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        """End a transaction on some partitions from outside (WriteTxnMarkers). An open one that is hit is aborted as a whole, so that
        its client is refused instead of being told that half of it was committed."""
        return self._admin.write(
            producer_id, producer_epoch, coordinator_epoch, commit, partitions, transaction_version=transaction_version, client=client
        )

    def abort(self, transactional_id: str, by: str) -> Reply[ErrorCode]:
        """End the open transaction of an id for an administrator, answered when its markers are durable. 48: none is open."""

        def decide(shard: TxnShard, now_ms: int) -> Result[ErrorCode]:
            return self._decisions.abort(shard, transactional_id, by, now_ms)

        return self._carry_out(transactional_id, decide, lambda error: error)

    def describe(self, transactional_id: str) -> TransactionDescription:
        if self.runtime.loading:
            return TransactionDescription(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, transactional_id)
        txn = self.runtime.shard_of(transactional_id).get(transactional_id)
        return describe_transaction(transactional_id, txn, self._markers.remaining(transactional_id))

    def list(
        self, states: Collection[str] = (), producer_ids: Collection[int] = (), duration_ms: int = -1, pattern: str | None = None
    ) -> ListTransactionsResult:
        """`pattern`: RE2, has to match the whole id; None or "" for none."""
        if self.runtime.loading:
            return ListTransactionsResult(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        try:
            matches = _full_match(pattern) if pattern else None
        except ValueError:
            return ListTransactionsResult(ErrorCode.INVALID_REGULAR_EXPRESSION)
        return list_transactions(self.runtime.shards(), self.runtime.now_ms(), states, producer_ids, duration_ms, matches)

    # -- carrying out

    def _carry_out(
        self,
        transactional_id: str,
        decide: Callable[[TxnShard, int], Result[T]],
        on_error: Callable[[ErrorCode], T],
        *,
        exclusive: bool = False,
        careful: bool = False,
    ) -> Reply[T]:
        """`exclusive`: nobody else may change the id before the answer is out. `on_error` makes the answer for a failed write.
        `careful`: some of the markers may be there already."""
        try:
            written = self.runtime.write(transactional_id, decide)
        except KafkaError as error:
            return on_error(error.code)
        marks = False
        for effect in written.effects:
            if isinstance(effect, WriteMarkers):
                marks = True
            elif isinstance(effect, Fenced):
                self._tell_fenced(effect)
            elif isinstance(effect, Remember):
                self.runtime.shard_of(transactional_id).remember(effect.renewed)
        response, position = written.response, written.position
        if not marks and (position is None or not written.changed):
            return response
        deferred: Deferred[T] = Deferred()

        def settle(error: KafkaError | None) -> None:
            deferred.resolve(response if error is None else on_error(coordinator_error(error).code))

        if marks:
            self._markers.begin(transactional_id, position, settle, careful=careful)
        else:
            assert position is not None
            if exclusive:
                self._hold(transactional_id, position, settle)
            else:
                self.runtime.when_durable(position, settle)
        return deferred.reply()

    def _hold(self, transactional_id: str, position: LogPosition, settle: Callable[[KafkaError | None], None]) -> None:
        shard = self.runtime.shard_of(transactional_id)
        shard.set_pending(transactional_id)

        def release(error: KafkaError | None) -> None:
            if error is None:  # else the log is offline, and what it holds is known after a restart
                shard.clear_pending(transactional_id)
            settle(error)

        self.runtime.when_durable(position, release)

    def _write_add(self, request: AddPartitions) -> Written[ErrorCode]:
        written = self.runtime.write(request.transactional_id, lambda shard, now_ms: self._decisions.add_partitions(shard, request, now_ms))
        if written.changed:
            self._timeouts.watch(request.transactional_id)
        return written

    def _new_producer_id(self) -> int:
        try:
            return self._ids.next_id()
        except (OSError, OverflowError) as error:  # retriable; older clients die on anything else (ProducerIdManager)
            _log.error("no producer id: %s", error)
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from error

    def _is_open(self, partition: TopicPartition, producer_id: int, producer_epoch: int) -> bool:
        log = self._logs.log(partition)
        return log is not None and log.has_open_transaction(producer_id, producer_epoch)

    def _when_log_durable(self, partition: TopicPartition, offset: int, callback: Callable[[KafkaError | None], None]) -> None:
        def settle(error: KafkaError | None) -> None:
            callback(None if self._logs.log(partition) is None else error)  # nothing is missing where the topic was deleted meanwhile

        log = self._logs.log(partition)
        if log is None:
            callback(None)
        else:
            log.when_durable(offset, settle)

    # -- what the coordinator does by itself

    def _abort_timed_out(self, transactional_id: str) -> None:
        def decide(shard: TxnShard, now_ms: int) -> Result[None]:
            return self._decisions.abort_timed_out(shard, transactional_id, now_ms)

        self._carry_out(transactional_id, decide, _nobody_asked)

    def _abort_for_marker(self, transactional_id: str, marker_epoch: int, client: str) -> None:
        def decide(shard: TxnShard, now_ms: int) -> Result[None]:
            return self._decisions.foreign_marker(shard, transactional_id, marker_epoch, client, now_ms)

        self._carry_out(transactional_id, decide, _nobody_asked, careful=True)

    def _expire(self) -> None:
        for partition in range(self.runtime.partitions):
            try:
                while expired := self.runtime.write_to(partition, self._decisions.expire).response:
                    _log.info("transactional ids expired count=%d first=%s", len(expired), expired[0])
            except KafkaError as error:
                _log.warning("transactional ids not expired partition=%d error=%s", partition, error)

    def _tell_fenced(self, fenced: Fenced) -> None:
        _log.info(
            "producer fenced transactional_id=%s producer_id=%d epoch=%d why=%r by=%r",
            fenced.transactional_id,
            fenced.producer_id,
            fenced.producer_epoch,
            fenced.why,
            fenced.by,
        )
        if self.on_fenced is not None:
            txn = self.runtime.shard_of(fenced.transactional_id).get(fenced.transactional_id)
            self.on_fenced(fenced, None if txn is None else txn.client_epoch)


def _nobody_asked(_error: ErrorCode) -> None:
    """What could not be written is tried again: by the timeout of the transaction."""


def _full_match(pattern: str) -> Callable[[str], bool]:
    import re2  # a shared library, wanted by hardly anybody

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options=options)
    except re2.error as error:
        raise ValueError(pattern) from error
    return lambda text: compiled.fullmatch(text) is not None
