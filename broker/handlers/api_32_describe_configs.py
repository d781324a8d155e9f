"""DescribeConfigs (32), v1-4.

Settings of topics (2), brokers (4: an id, or "" for the values set on all), loggers (8), client metrics (16) and groups (32).
`configuration_keys` null or empty means all; unknown keys are left out. v1: sources and synonyms. v3: types and documentation.
v4: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.config_access import check_access
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.entries import ConfigEntry
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Result = messages.DescribeConfigsResponse.DescribeConfigsResult
_Entry = _Result.DescribeConfigsResourceResult


@api(ApiKey.DESCRIBE_CONFIGS, 1, 4)
def handle(req: messages.DescribeConfigsRequest, ctx: RequestContext) -> messages.DescribeConfigsResponse:
    """Describe each resource."""
    return messages.DescribeConfigsResponse(results=[_describe(resource, req, ctx) for resource in req.resources])


def _describe(
    resource: messages.DescribeConfigsRequest.DescribeConfigsResource, req: messages.DescribeConfigsRequest, ctx: RequestContext
) -> _Result:
    kind, name = resource.resource_type, resource.resource_name
    try:
        check_access(ctx, AclOperation.DESCRIBE_CONFIGS, kind, name)
        entries = ctx.broker.dynamic_configs.describe(kind, name)
    except KafkaError as error:
        # Kafka leaves the text of an unknown topic empty here
        message = "" if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error.message
        return _Result(error_code=error.code, error_message=message, resource_type=kind, resource_name=name, configs=[])
    keys = set(resource.configuration_keys or ())
    configs = [_entry(entry, req) for entry in entries if not keys or entry.name in keys]
    return _Result(error_code=0, error_message="", resource_type=kind, resource_name=name, configs=configs)


def _entry(entry: ConfigEntry, req: messages.DescribeConfigsRequest) -> _Entry:
    synonyms = entry.synonyms if req.include_synonyms else ()
    return _Entry(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[_Entry.DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in synonyms],
        config_type=entry.type,
        documentation=entry.documentation if req.include_documentation else None,
    )
