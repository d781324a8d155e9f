"""Who may read and alter which settings, and the answer to a resource that appears twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.settings.catalogue import ConfigResource
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode, KafkaError

Resource: TypeAlias = messages.AlterConfigsRequest.AlterConfigsResource | messages.IncrementalAlterConfigsRequest.AlterConfigsResource
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
