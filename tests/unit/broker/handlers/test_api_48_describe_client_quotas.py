"""DescribeClientQuotas: which entities a filter finds."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.administered import Harness
from support.memory_store import written

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("components", "strict", "code", "count"),
    [
        ([], False, 0, 2),
        ([], True, 0, 0),
        ([("user", 2, None)], False, 0, 2),
        ([("user", 2, None)], True, 0, 1),
        ([("user", 1, None)], False, 0, 1),
        ([("user", 0, "u")], False, 0, 1),
        ([("planet", 2, None)], False, 35, 0),
        ([("", 2, None)], False, 42, 0),
        ([("user", 2, None), ("user", 2, None)], False, 42, 0),
        ([("user", 7, None)], False, 42, 0),
        ([("user", 0, None)], False, 42, 0),
        ([("ip", 2, None), ("user", 2, None)], False, 42, 0),
    ],
)
def test_quotas_are_found_by_their_components(
    broker: Harness, components: list[tuple[str, int, str | None]], strict: bool, code: int, count: int
) -> None:
    broker.broker.client_quotas.begin_alter([("user", "u")], {"request_percentage": 1.5}, written)
    broker.broker.client_quotas.begin_alter([("user", None), ("client-id", "c")], {"consumer_byte_rate": 10.0}, written)
    request = messages.DescribeClientQuotasRequest
    asked = [request.ComponentData(entity_type=kind, match_type=match_type, match=match) for kind, match_type, match in components]
    answer = broker.send(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, request(components=asked, strict=strict))
    assert (answer.error_code, len(answer.entries or ())) == (code, count)
