"""AlterClientQuotas (49), v0-1.

Sets and removes quotas of users, client ids and addresses; one result an entity, when all are on disk. v1: flexible. More than 10,000
values: 44, and none is altered.
Quotas are kept and shown, not enforced.
"""

from __future__ import annotations

from functools import partial

from oncelog.broker.answers import Ended, Settling
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CHANGES_A_TURN, CLUSTER_REFUSED, check_changes, may
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.broker.settings.client_quotas import ClientQuotas
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Entry = messages.AlterClientQuotasRequest.EntryData
_Result = messages.AlterClientQuotasResponse.EntryData
_Entity = frozenset[tuple[str, str | None]]


@api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1)
def handle(req: messages.AlterClientQuotasRequest, ctx: RequestContext) -> Reply[messages.AlterClientQuotasResponse]:
    """Alter the quotas of each entity."""
    named: dict[_Entity, list[_Entry]] = {}
    for entry in req.entries:
        named.setdefault(frozenset((part.entity_type, part.entity_name) for part in entry.entity), []).append(entry)
    steps = _alter_all(req, list(named.values()), may(ctx, AclOperation.ALTER_CONFIGS), ctx.broker.client_quotas)
    return ctx.broker.turns.answer(steps) if len(named) > CHANGES_A_TURN else at_once(steps)


def _alter_all(
    req: messages.AlterClientQuotasRequest, named: list[list[_Entry]], allowed: bool, quotas: ClientQuotas
) -> Steps[Reply[messages.AlterClientQuotasResponse]]:
    altering = Settling()
    results: list[_Result] = []
    refused: KafkaError | None = None
    try:
        if not allowed:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
        check_changes(sum(len(entry.ops) for entry in req.entries))
    except KafkaError as error:
        refused = error
    for number, entries in enumerate(named):
        result = _result(entries[-1])
        results.append(result)
        try:
            if refused is not None:
                raise refused
            if len(entries) > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each client quota entity must appear at most once in the request.")
            altering.start(number, partial(_alter, entries[0], quotas, req.validate_only))
        except KafkaError as error:
            _tell(result, error)
        if number % CHANGES_A_TURN == CHANGES_A_TURN - 1:
            yield None

    def answer() -> messages.AlterClientQuotasResponse:
        for number, error in altering.failed.items():
            _tell(results[number], error)
        return messages.AlterClientQuotasResponse(entries=results)

    return altering.holding_reply(answer)


def _alter(entry: _Entry, quotas: ClientQuotas, validate_only: bool, ended: Ended) -> None:
    entity = [(part.entity_type, part.entity_name) for part in entry.entity]
    quotas.begin_alter(entity, {op.key: None if op.remove else op.value for op in entry.ops}, ended, validate_only=validate_only)


def _result(entry: _Entry) -> _Result:
    entity = [_Result.EntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity]
    return _Result(error_code=ErrorCode.NONE, error_message=None, entity=entity)


def _tell(result: _Result, error: KafkaError) -> None:
    result.error_code, result.error_message = error.code, error.message
