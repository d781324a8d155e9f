"""AlterUserScramCredentials (51), v0.

Sets and removes users' SCRAM credentials, durably. The client sends a salted password; salt, iterations and the two keys derived
from it are kept. One change and one result a user: 93 unacceptable, 33 unknown mechanism, 91 nothing to remove, 92 a user named twice.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.auth.scram import check_deletion, check_upsertion, credential_of
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion
_Upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
_Changes = tuple[list[_Deletion], list[_Upsertion]]


@api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0)
def handle(req: messages.AlterUserScramCredentialsRequest, ctx: RequestContext) -> messages.AlterUserScramCredentialsResponse:
    """Make the change of each user."""
    changes: dict[str, _Changes] = {}
    for deletion in req.deletions:
        changes.setdefault(deletion.name, ([], []))[0].append(deletion)
    for upsertion in req.upsertions:
        changes.setdefault(upsertion.name, ([], []))[1].append(upsertion)
    allowed = may(ctx, AclOperation.ALTER)
    result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    results = []
    for user, (deletions, upsertions) in changes.items():
        try:
            if not allowed:
                raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
            _alter(user, deletions, upsertions, ctx)
        except KafkaError as error:
            results.append(result(user=user, error_code=error.code, error_message=error.message))
        else:
            results.append(result(user=user, error_code=0, error_message=None))
    return messages.AlterUserScramCredentialsResponse(results=results)


def _alter(user: str, deletions: list[_Deletion], upsertions: list[_Upsertion], ctx: RequestContext) -> None:
    """Raises KafkaError before anything is changed."""
    if len(deletions) + len(upsertions) > 1:
        raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    credentials = ctx.broker.scram_credentials
    for deletion in deletions:
        credentials.delete(user, check_deletion(user, deletion.mechanism))
    for upsertion in upsertions:
        salt, salted = bytes(upsertion.salt), bytes(upsertion.salted_password)
        mechanism = check_upsertion(user, upsertion.mechanism, upsertion.iterations)
        credentials.set(user, mechanism, credential_of(mechanism, salt, upsertion.iterations, salted))
