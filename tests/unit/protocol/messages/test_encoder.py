"""Encoded bodies have the bytes of kafka-python's encoder, and nothing that a default says."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey, is_flexible
from oncelog.protocol.messages import definitions
from support.filled_messages import cases, codec, filled


@pytest.mark.parametrize(("key", "version", "kind"), list(cases()))
def test_same_bytes_as_kafka_pythons_encoder(key: ApiKey, version: int, kind: str) -> None:
    message_class, encode, _decode = codec(key, kind)
    message = filled(message_class)
    flexible = is_flexible(key, version)
    theirs = message_class._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    buffer = definitions.kafka_fields().codecs.EncodeBuffer()
    theirs(message, buffer)
    assert encode(key, version, message) == buffer.result()


def test_tagged_fields_at_their_default_are_not_sent() -> None:
    assert messages.encode_response(ApiKey.API_VERSIONS, 3, messages.ApiVersionsResponse())[-1:] == b"\x00"
    assert messages.encode_response(ApiKey.API_VERSIONS, 3, messages.ApiVersionsResponse(finalized_features_epoch=1))[
        -11:
    ] == bytes.fromhex("01" + "0108" + "0000000000000001")
