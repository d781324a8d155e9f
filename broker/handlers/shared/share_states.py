"""What the five requests to the share coordinator have in common: rights, keys, answers partition by partition (Kafka's
`ShareCoordinatorService`). Other brokers send them, and administrators' tools."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.errors import ErrorCode

_E = ErrorCode
_TEXTS: Final = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    _E.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    _E.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    _E.NOT_COORDINATOR: "This is not the correct coordinator.",
    _E.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    _E.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    _E.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the share-group state epoch did not match.",
    _E.UNKNOWN_SERVER_ERROR: "The unexpected server error.",
}
_NO_ID: Final = uuid.UUID(int=0)
_NEGATIVE: Final = "The partition id cannot be a negative number."


class AskedPartition(Protocol):
    """What every request says of a partition."""

    @property
    def partition(self) -> int: ...


P = TypeVar("P", bound=AskedPartition)
P_co = TypeVar("P_co", bound=AskedPartition, covariant=True)
R = TypeVar("R")


class AskedTopic(Protocol[P_co]):
    """And of a topic."""

    @property
    def topic_id(self) -> uuid.UUID | None: ...

    @property
    def partitions(self) -> Sequence[P_co]: ...


class Verdict(NamedTuple):
    """On one partition; 0 with no text."""

    error_code: ErrorCode
    error_message: str | None = None


Answered = list[tuple[uuid.UUID | None, list[tuple[int, R | Verdict]]]]  # topic id; partition and what came of it


def one_by_one(
    ctx: RequestContext,
    group_id: str,
    topics: Sequence[AskedTopic[P]],
    ask: Callable[[SharePartitionKey, P], Reply[R | ErrorCode]],
    *,
    invalid: str | None = None,
) -> Reply[Answered[R]]:
    """What `ask` gives for each partition, or the verdict that is its error code. `invalid`: what 42 says of this request.

    As with Kafka nothing is done, and nothing answered, when the group has no name or a topic no partitions.
    """
    may = ctx.authorize(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    if not group_id or not all(topic.partitions for topic in topics):
        return []

    def told(found: object) -> R | Verdict:
        if not isinstance(found, ErrorCode):
            return cast("R", found)
        return Verdict(found, invalid if found is _E.INVALID_REQUEST else _TEXTS.get(found))

    def one(topic_id: uuid.UUID | None, asked: P) -> Reply[R | Verdict]:
        if not may:
            return told(_E.CLUSTER_AUTHORIZATION_FAILED)
        if asked.partition < 0:
            return Verdict(_E.INVALID_REQUEST, _NEGATIVE)
        return then(ask(SharePartitionKey(group_id, topic_id or _NO_ID, asked.partition), asked), told)

    def answered(found: list[object]) -> Answered[R]:
        rest = iter(cast("list[R | Verdict]", found))
        return [(topic.topic_id, [(asked.partition, next(rest)) for asked in topic.partitions]) for topic in topics]

    return then(all_of([one(topic.topic_id, asked) for topic in topics for asked in topic.partitions]), answered)
