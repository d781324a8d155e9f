"""Delegation tokens are refused, for one of two reasons."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.handlers.shared.delegation_tokens import refusal
from oncelog.protocol.errors import ErrorCode

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("principal", "error"),
    [
        ("User:ANONYMOUS", ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        ("User:alice", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        ("User:anonymous", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        ("User:CN=a", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
    ],
)
def test_who_did_not_authenticate_may_not_even_ask(principal: str, error: ErrorCode) -> None:
    asked: Any = SimpleNamespace(connection=SimpleNamespace(principal=principal))
    assert refusal(asked) is error
