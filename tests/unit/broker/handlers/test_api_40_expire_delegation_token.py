"""ExpireDelegationToken: refused to everybody."""

from __future__ import annotations

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import Connection, WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("principal", "error"),
    [("User:ANONYMOUS", ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), ("User:alice", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)],
)
def test_who_did_not_authenticate_and_who_did(whole: WholeBroker, version: int, principal: str, error: ErrorCode) -> None:
    answer = whole.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, version, connection=Connection(principal), hmac=b"h", expiry_time_period_ms=1)
    assert (answer.error_code, answer.expiry_timestamp_ms) == (error, -1)
