"""Which SCRAM credentials are taken."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.scram import check_upsertion
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("user", "mechanism", "iterations", "code"),
    [
        ("", 1, 4096, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", 0, 4096, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("a", 3, 4096, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("a", 1, 4095, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", 1, 16385, ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_credentials_that_are_not_acceptable(user: str, mechanism: int, iterations: int, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_upsertion(user, mechanism, iterations)
    assert refused.value.code is code
