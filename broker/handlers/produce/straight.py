"""The straight way of a small Produce: one plain batch for one partition, from the frame to the bytes of its answer.

It says yes or nothing: what is not plain, not allowed or not there is left, untouched, to the ordinary way (`api_00_produce`), which
knows every refusal. From the bytes that were read to those that are sent a record of 100 bytes takes 7 µs, 4 of them its append.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.produce.partition import refused
from oncelog.broker.handlers.shared.topic_access import NamedPartition
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import LoneProduce, LoneProduceReader, PartitionProduceResponse
from oncelog.protocol.hot.produce import FIRST_ADDING, FIRST_BY_TOPIC_ID
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext, ConnectionFacts
    from oncelog.broker.net.error_counts import ErrorCounts
    from oncelog.coordinator.deferred import Reply
    from oncelog.coordinator.runtime import LogPosition
    from oncelog.coordinator.txn.service import TxnService
    from oncelog.storage.log.log import Log

_TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
_WRITE = AclOperation.WRITE  # bound once: in Python 3.11 each look into an enum is a function call


class _Target(NamedPartition):
    """Where requests that begin alike go."""

    __slots__ = ("lone",)

    def __init__(self, lone: LoneProduce) -> None:
        super().__init__(lone.topic, lone.topic_id, lone.partition)
        self.lone = lone


class _Transactional(_Target):
    """Those that name a transactional id. `position`: the record of the coordinator that the answer has to wait for."""

    __slots__ = ("_adds", "_transactions", "id", "position", "topic_partition")

    def __init__(self, lone: LoneProduce, id: str, transactions: TxnService, adds: bool) -> None:
        super().__init__(lone)
        self._transactions = transactions
        self._adds = adds  # by itself (KIP-890)
        self.id = id
        self.position: LogPosition | None = None
        self.topic_partition = TopicPartition("", 0)

    def may_begin(self, producer_id: int, producer_epoch: int) -> bool:
        """Ask the coordinator."""
        code, self.position = self._transactions.admit_one(
            self.id, producer_id, producer_epoch, self.topic_partition, implicit_add=self._adds
        )
        return code is ErrorCode.NONE


class _Durable(Deferred[bytes]):
    """The answer that waits for the disk; the log calls it."""

    __slots__ = ("_answer", "_correlation_id", "_errors", "_target")

    def __init__(self, answer: bytes, correlation_id: int, target: LoneProduce, errors: ErrorCounts) -> None:
        super().__init__()
        self._errors = errors
        self._answer = answer
        self._correlation_id = correlation_id
        self._target = target

    def __call__(self, error: KafkaError | None) -> None:
        if error is None:
            self.resolve(self._answer)
        else:
            self._refuse(error.code, error.message)

    def _refuse(self, code: ErrorCode, message: str | None = None) -> None:
        self._errors.add(ApiKey.PRODUCE, code)
        told = PartitionProduceResponse(self._target.partition, code, error_message=message)
        self.resolve(self._target.refusal(self._correlation_id, told))


class _BothDurable(_Durable):
    """The answer that waits for the coordinator's record, too: without that nothing that rests on it may be acknowledged."""

    __slots__ = ("_failed", "_left", "_undecided")

    def __init__(self, answer: bytes, correlation_id: int, target: LoneProduce, errors: ErrorCounts) -> None:
        super().__init__(answer, correlation_id, target, errors)
        self._left = 2
        self._failed: KafkaError | None = None
        self._undecided = False

    def __call__(self, error: KafkaError | None) -> None:
        self._failed = error
        self._end()

    def decided(self, error: KafkaError | None) -> None:
        """The coordinator's record is durable, or never will be."""
        self._undecided = error is not None
        self._end()

    def _end(self) -> None:
        self._left -= 1
        if self._left:
            return
        if self._undecided:
            self._refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
        else:
            super().__call__(self._failed)


class StraightProduce:
    """Of one broker; `StraightWay`."""

    __slots__ = ("_broker", "_by_id", "_by_name", "_verified")

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._verified = LoneProduceReader(False, self._target_of)
        self._by_name = LoneProduceReader(False, self._adding_target_of)
        self._by_id = LoneProduceReader(True, self._adding_target_of)

    def __call__(
        self, version: int, frame: memoryview, begin: int, correlation_id: int, connection: ConnectionFacts
    ) -> Reply[bytes] | None:
        """The whole answer, its length in front, to the request whose body begins at `begin`; None: nothing was done."""
        reader = self._by_id if version >= FIRST_BY_TOPIC_ID else self._by_name if version >= FIRST_ADDING else self._verified
        found = reader.read(frame, begin)
        if found is None:
            return None
        target, start, stop = found
        broker = self._broker
        log = target.log(broker, connection, _WRITE)
        if log is None or log.topic_partition.topic in INTERNAL_TOPICS:
            return None
        if type(target) is _Transactional:
            return self._transactional(target, log, frame[start:stop], correlation_id, connection)
        lone = target.lone
        try:
            base_offset = log.plain.append(frame[start:stop], broker.env.clock.time_ms())
        except KafkaError as error:
            broker.errors.add(ApiKey.PRODUCE, error.code)
            return lone.refusal(correlation_id, refused(lone.partition, log, error))
        if base_offset < 0:
            return None
        answer = lone.answer(correlation_id, base_offset, -1, log.log_start_offset)
        end = log.log_end_offset
        if log.high_watermark >= end:
            return answer
        durable = _Durable(answer, correlation_id, lone, broker.errors)
        log.when_durable(end, durable)
        return durable

    def _transactional(
        self, target: _Transactional, log: Log, batch: memoryview, correlation_id: int, connection: ConnectionFacts
    ) -> Reply[bytes] | None:
        broker, lone = self._broker, target.lone
        authorizer = broker.authorizer
        if authorizer is not None and not authorizer.authorize(
            connection.principal, connection.client_host, _WRITE, _TRANSACTIONAL_ID, target.id
        ):
            return None
        target.position, target.topic_partition = None, log.topic_partition
        try:
            base_offset = log.plain.append(batch, broker.env.clock.time_ms(), target.may_begin)
        except KafkaError as error:
            broker.errors.add(ApiKey.PRODUCE, error.code)
            return lone.refusal(correlation_id, refused(lone.partition, log, error))
        if base_offset < 0:
            return None
        answer = lone.answer(correlation_id, base_offset, -1, log.log_start_offset)
        end, position = log.log_end_offset, target.position
        if position is None:
            if log.high_watermark >= end:
                return answer
            durable = _Durable(answer, correlation_id, lone, broker.errors)
        else:
            durable = _BothDurable(answer, correlation_id, lone, broker.errors)
            broker.transactions.when_durable(position, durable.decided)
        log.when_durable(end, durable)
        return durable

    def _target_of(self, lone: LoneProduce, adds: bool = False) -> _Target | None:
        if lone.acks not in (-1, 1) or lone.transactional_id == "":
            return None
        if lone.transactional_id is None:
            return _Target(lone)
        return _Transactional(lone, lone.transactional_id, self._broker.transactions, adds)

    def _adding_target_of(self, lone: LoneProduce) -> _Target | None:
        return self._target_of(lone, adds=True)
