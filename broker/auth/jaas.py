"""The part of Java's JAAS configuration language that Kafka's `sasl.jaas.config` uses: one login module and its options.

org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" user_alice="secret";
"""

from __future__ import annotations

import re
from typing import NamedTuple

from oncelog.protocol.errors import ErrorCode, KafkaError

_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s="\';]+)|(=)|(;))', re.DOTALL)
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})


class JaasEntry(NamedTuple):
    """Class name of the login module, and its options."""

    module: str
    options: dict[str, str]


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of `text`. Raises KafkaError(INVALID_CONFIG)."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != ";" or tokens[1].lower() not in _FLAGS:
        raise KafkaError(ErrorCode.INVALID_CONFIG, 'sasl.jaas.config is not of the form: LoginModule required name="value" ...;')
    pairs = tokens[2:-1]
    if len(pairs) % 3 or any(sign != "=" for sign in pairs[1::3]):
        raise KafkaError(ErrorCode.INVALID_CONFIG, 'sasl.jaas.config: options are written name="value"')
    return JaasEntry(tokens[0], dict(zip(pairs[::3], pairs[2::3], strict=True)))


def plain_users(text: str) -> dict[str, str]:
    """user -> password, of the options `user_NAME="password"` of a PlainLoginModule."""
    options = parse_jaas(text).options
    return {name.removeprefix("user_"): password for name, password in options.items() if name.startswith("user_")}


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"sasl.jaas.config cannot be read at character {position + 1}")
        quoted = match.group(1)
        found.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match.group().strip())
        position = match.end()
    return found
