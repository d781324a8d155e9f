"""Who may read and alter which settings, and what becomes of the resources that a request alters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from oncelog.broker.answers import Ended, Settling
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.settings.catalogue import ConfigResource
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode, KafkaError

Resource: TypeAlias = messages.AlterConfigsRequest.AlterConfigsResource | messages.IncrementalAlterConfigsRequest.AlterConfigsResource
R = TypeVar("R", messages.AlterConfigsRequest.AlterConfigsResource, messages.IncrementalAlterConfigsRequest.AlterConfigsResource)
T = TypeVar("T")
_REFUSALS = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}


def check_access(ctx: RequestContext, operation: AclOperation, kind: int, name: str) -> None:
    """Raises KafkaError 29, 30 or 31: topics and groups have rules of their own, all other settings belong to the cluster."""
    resource = {ConfigResource.TOPIC: ResourceType.TOPIC, ConfigResource.GROUP: ResourceType.GROUP}.get(kind, ResourceType.CLUSTER)  # type: ignore[call-overload]
    if not ctx.authorize(operation, resource, CLUSTER_NAME if resource is ResourceType.CLUSTER else name):
        raise KafkaError(_REFUSALS[resource])


def twice(resources: Iterable[Resource]) -> set[tuple[int, str]]:
    """(type, name) of the resources that a request names more than once."""
    counted = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    return {key for key, count in counted.items() if count > 1}


def check_once(resource: Resource, repeated: set[tuple[int, str]]) -> None:
    """Raises KafkaError(INVALID_REQUEST) for a resource that is in `repeated`."""
    if (resource.resource_type, resource.resource_name) in repeated:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def alter_each(
    resources: Sequence[R], alter: Callable[[R, Ended], None], answer: Callable[[list[tuple[R, ErrorCode, str | None]]], T]
) -> Reply[T]:
    """`answer` of what became of each. `alter` tells of the end, or raises KafkaError; it is not asked about what is named twice."""
    repeated = twice(resources)
    altering = Settling()
    refused: dict[int, KafkaError] = {}
    for number, resource in enumerate(resources):
        try:
            check_once(resource, repeated)
            altering.start(number, partial(alter, resource))
        except KafkaError as error:
            refused[number] = error

    def outcomes() -> T:
        errors = refused | altering.failed
        told = [(resource, errors.get(number)) for number, resource in enumerate(resources)]
        return answer([(one, ErrorCode.NONE, None) if error is None else (one, error.code, error.message) for one, error in told])

    return altering.holding_reply(outcomes)
