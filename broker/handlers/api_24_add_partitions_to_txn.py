"""AddPartitionsToTxn (24), v0-5: v0-3 from clients, v4-5 between brokers.

Makes partitions part of the open transaction, or opens one; all of them or none. v2: 90 instead of 47 for a fenced producer. v3: flexible.
v4: several transactions, each perhaps only to be verified. v5: 120 may be answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import BrokerContext, ConnectionFacts, RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.hot.add_partitions_to_txn import FIRST_FOR_BROKERS, Added, AddedReader
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition

PARTITIONS_A_TURN = 500
_Transaction = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic | _Transaction.AddPartitionsToTxnTopic
_ForClient = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_ForBroker = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnResult.AddPartitionsToTxnTopicResult
_Told = TypeVar("_Told", _ForClient, _ForBroker)
_Verdicts = list[tuple[TopicPartition, ErrorCode]]


class StraightAdd:
    """From the frame to the bytes of the answer, for few partitions that are all there; `StraightWay` of one broker."""

    __slots__ = ("_broker", "_reader")

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._reader = AddedReader()

    def __call__(
        self, version: int, frame: memoryview, begin: int, correlation_id: int, connection: ConnectionFacts
    ) -> Reply[bytes] | None:
        """What is refused before the coordinator is asked is left to `handle`."""
        request = self._reader.read(version, frame, begin) if version < FIRST_FOR_BROKERS else None
        if request is None or request[0] == "":
            return None
        id, producer_id, producer_epoch, added = request
        if not self._may_add(id, added, connection):
            return None
        reply = self._broker.transactions.add_partitions(id, producer_id, producer_epoch, added.partitions)
        if type(reply) is ErrorCode and reply:
            return None  # nothing has changed: `handle` refuses it again, and its cause is told
        return then(reply, lambda code: self._told(added, code, version, correlation_id))

    def _may_add(self, id: str, added: Added, connection: ConnectionFacts) -> bool:
        broker = self._broker
        authorizer, has_partition = broker.authorizer, broker.logs.topics.has_partition
        for partition in added.partitions:
            if not has_partition(partition) or partition.topic in INTERNAL_TOPICS:
                return False
        if authorizer is None:
            return True
        who = connection.principal, connection.client_host, AclOperation.WRITE
        return authorizer.authorize(*who, ResourceType.TRANSACTIONAL_ID, id) and all(
            authorizer.authorize(*who, ResourceType.TOPIC, topic) for topic in {partition.topic for partition in added.partitions}
        )

    def _told(self, added: Added, code: ErrorCode, version: int, correlation_id: int) -> bytes:
        if code:
            code = _told_to(version, code)
            for _ in added.partitions:
                self._broker.errors.add(ApiKey.ADD_PARTITIONS_TO_TXN, code)
        return added.answer(correlation_id, code)


@api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, straight=StraightAdd, straight_from=0)
def handle(req: messages.AddPartitionsToTxnRequest, ctx: RequestContext) -> Reply[messages.AddPartitionsToTxnResponse]:
    """Add or verify."""
    if ctx.api_version >= FIRST_FOR_BROKERS:
        return _for_brokers(req, ctx)
    if sum(len(topic.partitions) for topic in req.v3_and_below_topics) > PARTITIONS_A_TURN:
        return ctx.broker.turns.answer(_in_turns(req, ctx))
    version = ctx.api_version
    return then(
        _for_client(req, _partitions(req.v3_and_below_topics), ctx),
        lambda verdicts: messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topics(_ForClient, verdicts, version)),
    )


def _in_turns(req: messages.AddPartitionsToTxnRequest, ctx: RequestContext) -> Steps[messages.AddPartitionsToTxnResponse]:
    partitions = _partitions(req.v3_and_below_topics)
    yield None
    reply = _for_client(req, partitions, ctx)
    verdicts: _Verdicts = (yield reply) if isinstance(reply, Deferred) else reply
    yield None
    topics = _topics(_ForClient, verdicts, ctx.api_version)
    yield None
    return messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


def _for_client(req: messages.AddPartitionsToTxnRequest, partitions: list[TopicPartition], ctx: RequestContext) -> Reply[_Verdicts]:
    transactional_id = req.v3_and_below_transactional_id
    if not ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return [(partition, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for partition in partitions]
    refused = _refused(ctx, partitions, authorized_only=True)
    if refused:
        rest = [(partition, ErrorCode.OPERATION_NOT_ATTEMPTED) for partition in partitions if partition not in refused]
        return [*refused.items(), *rest]
    if transactional_id == "":
        return [(partition, ErrorCode.INVALID_REQUEST) for partition in partitions]
    reply = ctx.broker.transactions.add_partitions(
        transactional_id, req.v3_and_below_producer_id, req.v3_and_below_producer_epoch, partitions
    )
    return then(reply, lambda code: [(partition, code) for partition in partitions])


def _for_brokers(req: messages.AddPartitionsToTxnRequest, ctx: RequestContext) -> Reply[messages.AddPartitionsToTxnResponse]:
    if not ctx.authorize(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
        return messages.AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if sum(len(topic.partitions) for transaction in req.transactions for topic in transaction.topics) > PARTITIONS_A_TURN:
        return ctx.broker.turns.answer(_for_brokers_in_turns(req, ctx))
    kind = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnResult
    ids = [transaction.transactional_id for transaction in req.transactions]
    version = ctx.api_version
    return then(
        all_of([_one_transaction(transaction, ctx) for transaction in req.transactions]),
        lambda results: messages.AddPartitionsToTxnResponse(
            results_by_transaction=[
                kind(transactional_id=id, topic_results=_topics(_ForBroker, verdicts, version))
                for id, verdicts in zip(ids, results, strict=True)
            ]
        ),
    )


def _for_brokers_in_turns(req: messages.AddPartitionsToTxnRequest, ctx: RequestContext) -> Steps[messages.AddPartitionsToTxnResponse]:
    kind = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnResult
    results = []
    for transaction in req.transactions:
        partitions = _partitions(transaction.topics)
        yield None
        refused: dict[TopicPartition, ErrorCode] = {}
        for start in range(0, len(partitions), PARTITIONS_A_TURN):
            refused |= _refused(ctx, partitions[start : start + PARTITIONS_A_TURN], authorized_only=False)
            yield None
        reply = _verdicts(transaction, partitions, refused, ctx)
        verdicts: _Verdicts = (yield reply) if isinstance(reply, Deferred) else reply
        yield None
        results.append(kind(transactional_id=transaction.transactional_id, topic_results=_topics(_ForBroker, verdicts, ctx.api_version)))
        yield None
    return messages.AddPartitionsToTxnResponse(results_by_transaction=results)


def _one_transaction(transaction: _Transaction, ctx: RequestContext) -> Reply[_Verdicts]:
    partitions = _partitions(transaction.topics)
    return _verdicts(transaction, partitions, _refused(ctx, partitions, authorized_only=False), ctx)


def _verdicts(
    transaction: _Transaction, partitions: list[TopicPartition], refused: dict[TopicPartition, ErrorCode], ctx: RequestContext
) -> Reply[_Verdicts]:
    if refused:
        rest = [(partition, ErrorCode.OPERATION_NOT_ATTEMPTED) for partition in partitions if partition not in refused]
        return [*refused.items(), *rest]
    service = ctx.broker.transactions
    client = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    if transaction.transactional_id == "":
        return [(partition, ErrorCode.INVALID_REQUEST) for partition in partitions]
    if transaction.verify_only:
        verdicts = service.verify_partitions(*client, partitions)
        return [(partition, verdicts[partition]) for partition in partitions]
    return then(service.add_partitions(*client, partitions, client_version=2), lambda code: [(partition, code) for partition in partitions])


def _refused(ctx: RequestContext, partitions: list[TopicPartition], *, authorized_only: bool) -> dict[TopicPartition, ErrorCode]:
    """Partitions that cannot be added: no client may add internal topics, and those not there are for nobody."""
    unauthorized: dict[TopicPartition, ErrorCode] = {}
    unknown: dict[TopicPartition, ErrorCode] = {}
    for partition in partitions:
        if authorized_only and (
            partition.topic in INTERNAL_TOPICS or not ctx.authorize(AclOperation.WRITE, ResourceType.TOPIC, partition.topic)
        ):
            unauthorized[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif not ctx.broker.logs.topics.has_partition(partition):
            unknown[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return unauthorized | unknown


def _partitions(topics: Iterable[_Topic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _topics(kind: type[_Told], verdicts: _Verdicts, api_version: int) -> list[_Told]:
    by_topic: dict[str, list[tuple[TopicPartition, ErrorCode]]] = {}
    for partition, error in verdicts:
        by_topic.setdefault(partition.topic, []).append((partition, error))
    partition_result = kind.AddPartitionsToTxnPartitionResult
    return [
        kind(
            name=name,
            results_by_partition=[
                partition_result(partition_index=partition.partition, partition_error_code=_told_to(api_version, error))
                for partition, error in results
            ],
        )
        for name, results in by_topic.items()
    ]


def _told_to(api_version: int, error: ErrorCode) -> ErrorCode:
    return ErrorCode.INVALID_PRODUCER_EPOCH if error is ErrorCode.PRODUCER_FENCED and api_version < 2 else error
