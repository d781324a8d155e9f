"""What the administrative handlers share: the cluster's permission, numbers into enums, and how much a request may change."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

E = TypeVar("E", bound=IntEnum)

CLUSTER_REFUSED = "Cluster authorization failed."
CHANGES_A_TURN = 200
MAX_CHANGES = 10_000


def may(ctx: RequestContext, operation: AclOperation) -> bool:
    """Whether the request's principal may do `operation` on the cluster."""
    return ctx.authorize(operation, ResourceType.CLUSTER, CLUSTER_NAME)


def check_changes(count: int) -> None:
    """Raises KafkaError(POLICY_VIOLATION) for more changes than one request may make (`QuorumController.MAX_RECORDS_PER_USER_OP`)."""
    if count > MAX_CHANGES:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")


def member(kind: type[E], number: int) -> E:
    """The member of `kind` with that number; the one numbered 0 (UNKNOWN) for a number that nobody knows."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)
