"""CreateDelegationToken: refused to everybody, for the reason that comes first in Apache Kafka."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import Connection, WholeBroker

pytestmark = pytest.mark.unit
ALICE = "User:alice"
USER, STRANGE = {"principal_type": "User", "principal_name": "r"}, {"principal_type": "Group", "principal_name": "r"}


def create(whole: WholeBroker, principal: str, version: int = 3, **fields: Any) -> Any:
    asked = {"renewers": [], "max_lifetime_ms": -1, **fields}
    return whole.ask(ApiKey.CREATE_DELEGATION_TOKEN, version, connection=Connection(principal), **asked)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("principal", "error"),
    [("User:ANONYMOUS", ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), (ALICE, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)],
)
def test_who_did_not_authenticate_and_who_did(whole: WholeBroker, version: int, principal: str, error: ErrorCode) -> None:
    answer = create(whole, principal, version)
    assert (answer.error_code, answer.principal_type, answer.principal_name) == (error, "User", principal.removeprefix("User:"))
    assert (answer.token_id, answer.hmac, answer.issue_timestamp_ms, answer.expiry_timestamp_ms) == ("", b"", -1, -1)


def test_for_another_owner_the_right_to_create_tokens_is_needed(whole: WholeBroker) -> None:
    bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    assert create(whole, ALICE, **bob).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    whole.deny(AclOperation.CREATE_TOKENS, ResourceType.USER, "User:bob")
    whole.deny(AclOperation.CREATE_TOKENS, ResourceType.USER, ALICE)
    answer = create(whole, ALICE, **bob)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (answer.principal_name, answer.token_requester_principal_name) == ("bob", "alice")
    own = {"owner_principal_type": "User", "owner_principal_name": "alice"}
    assert create(whole, ALICE, **own).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED  # one's own needs none


def test_renewers_must_be_users(whole: WholeBroker) -> None:
    assert create(whole, ALICE, renewers=[USER]).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert create(whole, ALICE, renewers=[USER, STRANGE]).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert create(whole, "User:ANONYMOUS", renewers=[STRANGE]).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
