"""DescribeUserScramCredentials (50), v0.

Mechanism and iterations of users' SCRAM credentials, never a secret; all users when none is named. Unknown user: 91, named twice: 92.
"""

from __future__ import annotations

from collections import Counter

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Result = messages.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


@api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0)
def handle(req: messages.DescribeUserScramCredentialsRequest, ctx: RequestContext) -> messages.DescribeUserScramCredentialsResponse:
    """Describe each user named, or all."""
    response = messages.DescribeUserScramCredentialsResponse
    if not may(ctx, AclOperation.DESCRIBE):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        refused = [_Result(user=u.name, error_code=error, error_message=CLUSTER_REFUSED, credential_infos=[]) for u in req.users or ()]
        return response(error_code=error, error_message=CLUSTER_REFUSED, results=refused)
    named = [user.name for user in req.users or ()] or ctx.broker.scram_credentials.users()
    counted = Counter(named)
    return response(error_code=0, error_message="", results=[_user(user, count > 1, ctx) for user, count in counted.items()])


def _user(user: str, twice: bool, ctx: RequestContext) -> _Result:
    if twice:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _Result(user=user, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=message, credential_infos=[])
    credentials = ctx.broker.scram_credentials.of(user)
    if not credentials:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return _Result(user=user, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=message, credential_infos=[])
    infos = [_Result.CredentialInfo(mechanism=mechanism, iterations=c.iterations) for mechanism, c in sorted(credentials.items())]
    return _Result(user=user, error_code=0, error_message="", credential_infos=infos)
