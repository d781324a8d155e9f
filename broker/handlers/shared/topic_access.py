"""What requests about topics share: permissions as bits, the check of a client's leader epoch, the log of a partition that is named."""

from __future__ import annotations

import uuid

from oncelog.broker.auth.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType
from oncelog.broker.context import BrokerContext, ConnectionFacts, RequestContext
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.storage.log.log import Log

NOT_REQUESTED = -(2**31)


def authorized_operations(ctx: RequestContext, resource_type: ResourceType, name: str = CLUSTER_NAME) -> int:
    """What the principal may do to a resource: the sum of 1 << operation (KIP-430)."""
    return sum(1 << operation for operation in SUPPORTED_OPERATIONS[resource_type] if ctx.sees(operation, resource_type, name))


def cluster_operations(ctx: RequestContext) -> int:
    """The same of the cluster; nothing is told to who may not describe it."""
    may_describe = ctx.authorize(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    return authorized_operations(ctx, ResourceType.CLUSTER) if may_describe else 0


def may_topic(ctx: RequestContext, operation: AclOperation, name: str) -> bool:
    """Whether the request's principal may do `operation` on the topic."""
    return ctx.authorize(operation, ResourceType.TOPIC, name)


def leader_epoch_error(log: Log, current_leader_epoch: int) -> ErrorCode:
    """What a client is told that believes in `current_leader_epoch`; negative: it does not know (`Partition.checkCurrentLeaderEpoch`)."""
    if current_leader_epoch < 0 or current_leader_epoch == log.leader_epoch:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if current_leader_epoch < log.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH


def readable_log(
    ctx: RequestContext, operation: AclOperation, topic: str, partition: int, current_leader_epoch: int, *, may_all: bool = False
) -> tuple[Log | None, ErrorCode]:
    """The log of a partition that the principal may use so, or why not: 29, 3, 56, 74, 75. `may_all`: a right on the cluster covers it."""
    if not (may_all or may_topic(ctx, operation, topic)):
        return None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    log = ctx.broker.logs.log(TopicPartition(topic, partition))
    if log is None:
        return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if log.offline is not None:
        return None, ErrorCode.KAFKA_STORAGE_ERROR
    error = leader_epoch_error(log, current_leader_epoch)
    return (log, error) if error is ErrorCode.NONE else (None, error)


class NamedPartition:
    """A partition as requests that begin alike name it, by topic or by topic id: its log is looked up once."""

    __slots__ = ("_log", "_partition", "_topic", "_topic_id")

    def __init__(self, topic: str | None, topic_id: bytes | None, partition: int) -> None:
        self._topic = topic
        self._topic_id = topic_id
        self._partition = partition
        self._log: Log | None = None

    def log(self, broker: BrokerContext, connection: ConnectionFacts, operation: AclOperation) -> Log | None:
        """The log; None when there is none, or when `connection` may not do `operation`, of which nothing is told. 0.1 µs."""
        log = self._log
        if log is None or log.offline is not None:
            log = self._log = self._find(broker)
            if log is None:
                return None
        authorizer = broker.authorizer
        if authorizer is not None and not authorizer.authorize(
            connection.principal, connection.client_host, operation, _TOPIC, log.topic_partition.topic
        ):
            return None
        return log

    def _find(self, broker: BrokerContext) -> Log | None:
        topic = self._topic
        if self._topic_id is not None:
            known = broker.logs.topics.by_id(uuid.UUID(bytes=self._topic_id))
            topic = known.name if known is not None else None
        return broker.logs.log(TopicPartition(topic, self._partition)) if topic is not None else None


_TOPIC = ResourceType.TOPIC  # bound once: in Python 3.11 each look into an enum is a function call
