"""TxnOffsetCommit (28), v0-5.

Offsets that become committed with the producer's transaction. v0-4: the group's partition of `__consumer_offsets` must have been added
(AddOffsetsToTxn); v5 adds it itself. v2: leader epoch. v3: flexible; generation, member and instance, so that a fenced member is refused.
v4: 120 may be answered. A fenced producer is told 47 in every version.
"""

from __future__ import annotations

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.coordinator.runtime import LogPosition
from oncelog.coordinator.txn.old_errors import txn_offset_commit_error
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition

_FIRST_ADDING_VERSION = 5
_Verdicts = dict[TopicPartition, ErrorCode]


@api(ApiKey.TXN_OFFSET_COMMIT, 0, 5)
def handle(req: messages.TxnOffsetCommitRequest, ctx: RequestContext) -> Reply[messages.TxnOffsetCommitResponse]:
    """Check, add, append: in one turn."""
    refusal = _refusal(req, ctx)
    verdicts: _Verdicts = {}
    offsets: dict[TopicPartition, OffsetToCommit] = {}
    for topic in req.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.partition_index)
            code = refusal if refusal is not ErrorCode.NONE else _topic_refusal(place, ctx)
            if code is ErrorCode.NONE:
                offsets[place] = OffsetToCommit(
                    partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or ""
                )
            else:
                verdicts[place] = code
    return then(_commit(req, ctx, offsets), lambda codes: _answer(req, verdicts | codes))


def _refusal(req: messages.TxnOffsetCommitRequest, ctx: RequestContext) -> ErrorCode:
    if not ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, req.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _topic_refusal(place: TopicPartition, ctx: RequestContext) -> ErrorCode:
    if not ctx.authorize(AclOperation.READ, ResourceType.TOPIC, place.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if ctx.broker.logs.topics.has_partition(place) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _commit(req: messages.TxnOffsetCommitRequest, ctx: RequestContext, offsets: dict[TopicPartition, OffsetToCommit]) -> Reply[_Verdicts]:
    if not offsets:
        return {}
    version = ctx.api_version
    if req.group_id == "":
        return dict.fromkeys(offsets, ErrorCode.INVALID_GROUP_ID)
    groups, transactions = ctx.broker.groups, ctx.broker.transactions
    place = TopicPartition(CONSUMER_OFFSETS, groups.partition_for(req.group_id))
    admitted, position = transactions.admit(
        req.transactional_id, req.producer_id, req.producer_epoch, [place], implicit_add=version >= _FIRST_ADDING_VERSION
    )
    if admitted[place] is not ErrorCode.NONE:
        return dict.fromkeys(offsets, txn_offset_commit_error(admitted[place], version))
    reply = groups.offsets.commit_in_transaction(
        req.group_id,
        req.member_id,
        req.generation_id,
        req.group_instance_id,
        offsets,
        producer_id=req.producer_id,
        producer_epoch=req.producer_epoch,
    )
    return then(
        all_of([reply, _durable(ctx, position)]),
        lambda both: {each: txn_offset_commit_error(code, version) for each, code in both[0].items()},
    )


def _durable(ctx: RequestContext, position: LogPosition | None) -> Reply[_Verdicts]:
    """No verdicts, once the record that added the partition is on disk."""
    if position is None:
        return {}
    added: Deferred[_Verdicts] = Deferred()
    ctx.broker.transactions.when_durable(position, lambda error: added.resolve({}) if error is None else added.fail(error))
    return added.reply()


def _answer(req: messages.TxnOffsetCommitRequest, verdicts: _Verdicts) -> messages.TxnOffsetCommitResponse:
    topic_kind = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    partition_kind = topic_kind.TxnOffsetCommitResponsePartition
    return messages.TxnOffsetCommitResponse(
        topics=[
            topic_kind(
                name=topic.name,
                partitions=[
                    partition_kind(
                        partition_index=partition.partition_index,
                        error_code=verdicts[TopicPartition(topic.name, partition.partition_index)],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in req.topics
        ]
    )
