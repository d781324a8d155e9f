"""CreateDelegationToken (38), v1-3.

A token needs an authenticated connection: 64 on plain text and for anonymous TLS clients. Tokens are not served
(`delegation.token.secret.key` is not set), so an authenticated client gets 61; before that, as in `KafkaApis.handleCreateTokenRequest`,
65 for another owner without CREATE_TOKENS on it, and 67 for renewers that are no users.
v2: flexible. v3: owner and requester.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.delegation_tokens import refusal
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3)
def handle(req: messages.CreateDelegationTokenRequest, ctx: RequestContext) -> messages.CreateDelegationTokenResponse:
    """Refuse, naming who asked."""
    requester_type, _, requester_name = ctx.connection.principal.partition(":")
    return messages.CreateDelegationTokenResponse(
        error_code=_refusal(req, ctx),
        principal_type=req.owner_principal_type or requester_type,
        principal_name=req.owner_principal_name or requester_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
        token_id="",
        hmac=b"",
    )


def _refusal(req: messages.CreateDelegationTokenRequest, ctx: RequestContext) -> ErrorCode:
    error = refusal(ctx)
    if error is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED:
        return error
    owner = f"{req.owner_principal_type}:{req.owner_principal_name}" if req.owner_principal_name else ctx.connection.principal
    if owner != ctx.connection.principal and not ctx.authorize(AclOperation.CREATE_TOKENS, ResourceType.USER, owner):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != "User" for renewer in req.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return error
