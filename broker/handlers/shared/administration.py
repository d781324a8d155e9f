"""What the administrative handlers share: the cluster's permission, numbers into enums, and sizes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

E = TypeVar("E", bound=IntEnum)

CLUSTER_REFUSED = "Cluster authorization failed."


def may(ctx: RequestContext, operation: AclOperation) -> bool:
    """Whether the request's principal may do `operation` on the cluster."""
    return ctx.authorize(operation, ResourceType.CLUSTER, CLUSTER_NAME)


def member(kind: type[E], number: int) -> E:
    """The member of `kind` with that number; the one numbered 0 (UNKNOWN) for a number that nobody knows."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)
