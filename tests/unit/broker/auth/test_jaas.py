"""Users of PLAIN in a JAAS setting."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.jaas import parse_jaas, plain_users
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


def test_jaas_users() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    text = module + ' required\n  username="admin" password="a;b" user_alice="s\\"x" user_bob=plain;'
    assert plain_users(text) == {"alice": 's"x', "bob": "plain"}
    assert parse_jaas(text).module.endswith("PlainLoginModule")


@pytest.mark.parametrize("text", ["", "x", "Module required", 'Module maybe a="b";', 'Module required a "b";', 'Module required a="b'])
def test_bad_jaas_is_a_bad_setting(text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        parse_jaas(text)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
