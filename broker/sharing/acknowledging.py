"""The acknowledgements of a request, partition by partition, and what becomes of each."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.sharing.batches import has_renewals, well_formed
from oncelog.broker.sharing.hosting import Refused, ShareHost
from oncelog.broker.sharing.partition import AcknowledgedBatch
from oncelog.broker.sharing.sessions import TopicIdPartition
from oncelog.coordinator.deferred import Reply
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

A_TURN = 20  # partitions with acknowledgements, each of which is a record to write
MEMBER_ID_BYTES = 36
NO_ID = uuid.UUID(int=0)
_E = ErrorCode
Verdicts = dict[TopicIdPartition, Refused]


class Acknowledged(NamedTuple):
    """What a request says of one partition; without batches it only names it."""

    where: TopicIdPartition
    batches: list[AcknowledgedBatch]


def named(topics: Sequence[Any]) -> list[Acknowledged]:
    """The partitions of a request, with their batches."""
    return [
        Acknowledged(
            TopicIdPartition(topic.topic_id or NO_ID, partition.partition_index),
            [AcknowledgedBatch(each.first_offset, each.last_offset, each.acknowledge_types) for each in partition.acknowledgement_batches],
        )
        for topic in topics
        for partition in topic.partitions
    ]


def check_member(ctx: RequestContext, group_id: str | None, member_id: str | None) -> str:
    """The group's id. Raises KafkaError 30, 35 and 42."""
    if not ctx.broker.config.share_group.enabled:
        raise KafkaError(_E.UNSUPPORTED_VERSION)
    if group_id is None:
        raise KafkaError(_E.INVALID_REQUEST)
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, group_id):
        raise KafkaError(_E.GROUP_AUTHORIZATION_FAILED)
    if not member_id or len(member_id) > MEMBER_ID_BYTES:
        raise KafkaError(_E.INVALID_REQUEST)
    return group_id


def readable(ctx: RequestContext, where: TopicIdPartition) -> ErrorCode:
    """May the client read the partition's topic, and is there one? 100, 29."""
    name = ctx.broker.topic_name(where.topic_id)
    if name is None:
        return _E.UNKNOWN_TOPIC_ID
    return _E.NONE if ctx.authorize(AclOperation.READ, ResourceType.TOPIC, name) else _E.TOPIC_AUTHORIZATION_FAILED


def leader(ctx: RequestContext, where: TopicIdPartition, *codes: ErrorCode) -> tuple[int, int]:
    """(node, epoch) for a client that is told to look for it again; else zeros, as in Apache Kafka."""
    if _E.NOT_LEADER_OR_FOLLOWER not in codes:
        return 0, 0
    log = ctx.broker.logs.log(TopicPartition(ctx.broker.topic_name(where.topic_id) or "", where.partition))
    return ctx.broker.node_id, log.leader_epoch if log is not None else -1


def acknowledge(
    ctx: RequestContext, group_id: str, member_id: str, asked: Sequence[Acknowledged], *, renews: bool
) -> Steps[Reply[Verdicts]]:
    """A verdict for each, once all are on disk; a request of empty lists has none."""
    if not any(each.batches for each in asked):
        return {}
    replies: list[Reply[Refused]] = []
    for count, each in enumerate(asked):
        if count and count % A_TURN == 0:
            yield None
        replies.append(_acknowledge(ctx, group_id, member_id, each, renews))
    wheres = [each.where for each in asked]
    return then(all_of(replies), lambda verdicts: dict(zip(wheres, verdicts, strict=True)))


def _acknowledge(ctx: RequestContext, group_id: str, member_id: str, asked: Acknowledged, renews: bool) -> Reply[Refused]:
    error = readable(ctx, asked.where)
    if error:
        return Refused(error)
    if not well_formed(asked.batches, renews=renews):
        return Refused(_E.INVALID_REQUEST)
    sharing = ctx.broker.sharing
    host = sharing.known_host(group_id, *asked.where)
    if not isinstance(host, ShareHost):
        return Refused(host, "This server does not host this topic-partition.")
    if not asked.batches:
        return Refused()
    if renews and has_renewals(asked.batches) and not sharing.settings(group_id).renews:
        return Refused(_E.INVALID_RECORD_STATE, "Renewing the acquisition locks is not enabled for the group.")
    return host.acknowledge(member_id, asked.batches)
