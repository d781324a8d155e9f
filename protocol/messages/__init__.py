"""The door to message bodies: objects in, bytes out, and back.

Message classes are attributes of this module under Kafka's names, made when first asked for:

    request = messages.decode_request(ApiKey.INIT_PRODUCER_ID, 4, body)
    answer = messages.InitProducerIdResponse(producer_id=1000, producer_epoch=0)
    messages.encode_response(ApiKey.INIT_PRODUCER_ID, 4, answer)

Fields carry their snake_case schema names; a nested struct's class is an attribute of its parent's class
(`MetadataResponse.MetadataResponseTopic`). A field that is not given, or that the version at hand does not have, holds its schema default.
The zero UUID is None.

Type checkers read `__init__.pyi`, which `tools.docs` makes from the definitions. Behind the door: `definitions` (parsed; the only
module that touches kafka-python), `classes`, `decoder` and `encoder` (functions made from definitions, stricter and faster than
kafka-python's own), `codec` (finds and calls them).
"""

from __future__ import annotations

from typing import Any

from oncelog.protocol.api_keys import is_flexible
from oncelog.protocol.messages.codec import (
    decode_data,
    decode_request,
    decode_response,
    encode_data,
    encode_request,
    encode_response,
    is_flexible_definition,
    knows,
    valid_versions,
)
from oncelog.protocol.messages.definitions import definition
from oncelog.protocol.primitives import MalformedRequest

__all__ = [
    "MalformedRequest",
    "decode_data",
    "decode_request",
    "decode_response",
    "encode_data",
    "encode_request",
    "encode_response",
    "is_flexible",
    "is_flexible_definition",
    "knows",
    "valid_versions",
]


def __getattr__(name: str) -> Any:
    """A message class, on first use. Raises AttributeError."""
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return definition(name).message_class
