"""AlterUserScramCredentials (51), v0.

Sets and removes users' SCRAM credentials; answered when they are on disk. The client sends a salted password; salt, iterations and the
two keys derived from it are kept. One change and one result a user: 93 unacceptable, 33 unknown mechanism, 91 nothing to remove, 92 a user
named twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from oncelog.broker.answers import Ended, Settling
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.auth.scram import ScramCredentials, check_deletion, check_upsertion, credential_of
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CHANGES_A_TURN, CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion
_Upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
_Result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
_Changes = tuple[list[_Deletion], list[_Upsertion]]


@api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0)
def handle(req: messages.AlterUserScramCredentialsRequest, ctx: RequestContext) -> Reply[messages.AlterUserScramCredentialsResponse]:
    """Make the change of each user."""
    changes: dict[str, _Changes] = {}
    for deletion in req.deletions:
        changes.setdefault(deletion.name, ([], []))[0].append(deletion)
    for upsertion in req.upsertions:
        changes.setdefault(upsertion.name, ([], []))[1].append(upsertion)
    if not may(ctx, AclOperation.ALTER):
        refused = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
        return _answer(changes, dict.fromkeys(changes, refused))
    steps = _alter_all(changes, ctx.broker.scram_credentials)
    return ctx.broker.turns.answer(steps) if len(changes) > CHANGES_A_TURN else at_once(steps)


def _alter_all(changes: dict[str, _Changes], credentials: ScramCredentials) -> Steps[Reply[messages.AlterUserScramCredentialsResponse]]:
    altering = Settling()
    refused: dict[str, KafkaError] = {}
    for number, (user, asked) in enumerate(changes.items(), 1):
        try:
            altering.start(user, partial(_alter, user, *asked, credentials))
        except KafkaError as error:
            refused[user] = error.with_traceback(None)  # of thousands
        if number % CHANGES_A_TURN == 0:
            yield None
    return altering.holding_reply(lambda: _answer(changes, refused | altering.failed))


def _answer(users: Iterable[str], errors: Mapping[str, KafkaError]) -> messages.AlterUserScramCredentialsResponse:
    told = [(user, errors.get(user)) for user in users]
    return messages.AlterUserScramCredentialsResponse(
        results=[
            _Result(user=user, error_code=0, error_message=None)
            if error is None
            else _Result(user=user, error_code=error.code, error_message=error.message)
            for user, error in told
        ]
    )


def _alter(user: str, deletions: list[_Deletion], upsertions: list[_Upsertion], credentials: ScramCredentials, ended: Ended) -> None:
    """Raises KafkaError before anything is changed."""
    if len(deletions) + len(upsertions) > 1:
        raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    for deletion in deletions:
        credentials.begin_delete(user, check_deletion(user, deletion.mechanism), ended)
    for upsertion in upsertions:
        salt, salted = bytes(upsertion.salt), bytes(upsertion.salted_password)
        mechanism = check_upsertion(user, upsertion.mechanism, upsertion.iterations)
        credentials.begin_set(user, mechanism, credential_of(mechanism, salt, upsertion.iterations, salted), ended)
