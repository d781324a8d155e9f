"""The door to message bodies: objects in, bytes out, and back. The only module that touches kafka-python.

Message classes are attributes of this module under Kafka's names, made when first asked for:

    request = messages.decode_request(ApiKey.INIT_PRODUCER_ID, 4, body)
    answer = messages.InitProducerIdResponse(producer_id=1000, producer_epoch=0)
    messages.encode_response(ApiKey.INIT_PRODUCER_ID, 4, answer)

Fields carry their snake_case schema names; a nested struct's class is an attribute of its parent's class
(`MetadataResponse.MetadataResponseTopic`). A field that is not given, or that the version at hand does not have, holds its schema default.
The zero UUID is None.

Definitions come from kafka-python's package, and from `schemas/` for the messages it lacks. Of kafka-python's code only the parser of
definitions is used, loaded from its files under a private name: importing `kafka` itself starts its client half and takes 200 ms.
`decoder` and `encoder` make the functions, stricter and faster than kafka-python's own.
"""

from __future__ import annotations

import importlib.util
import json
import struct
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any, Final, TypeAlias

from oncelog.protocol.api_keys import ApiKey, is_flexible
from oncelog.protocol.messages import schemas
from oncelog.protocol.messages.classes import make_class
from oncelog.protocol.messages.decoder import Decoder, Field, compile_decoder
from oncelog.protocol.messages.encoder import Encoder, compile_encoder
from oncelog.protocol.primitives import Buffer, MalformedRequest

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

Message: TypeAlias = Any

_PRIVATE_NAME: Final = "oncelog.protocol._kafka_python_fields"


def decode_request(api_key: int, api_version: int, body: Buffer) -> Message:
    """The request in `body` (without header). Bytes after it are ignored. Raises MalformedRequest."""
    return _decode(_request_decoders.get((api_key, api_version)) or _decoder_of(api_key, "Request", api_version, _request_decoders), body)


def decode_response(api_key: int, api_version: int, body: Buffer) -> Message:
    """The answer in `body` (without header). Raises MalformedRequest."""
    return _decode(
        _response_decoders.get((api_key, api_version)) or _decoder_of(api_key, "Response", api_version, _response_decoders), body
    )


def encode_response(api_key: int, api_version: int, message: Message) -> bytearray:
    """The body of `message`. Fields that the version lacks are dropped. Raises AssertionError for null where the version has none."""
    return _encode(
        _response_encoders.get((api_key, api_version)) or _encoder_of(api_key, "Response", api_version, _response_encoders), message
    )


def encode_request(api_key: int, api_version: int, message: Message) -> bytearray:
    """The body of `message`, as `encode_response`."""
    return _encode(
        _request_encoders.get((api_key, api_version)) or _encoder_of(api_key, "Request", api_version, _request_encoders), message
    )


def decode_data(name: str, data: Buffer) -> Message:
    """A self-describing value: int16 version, then the body (`ConsumerProtocolSubscription`, `ConsumerProtocolAssignment`).

    A version above ours is read as our newest, as Kafka's `ConsumerProtocol` does. Raises MalformedRequest.
    """
    view = memoryview(data)
    if len(view) < 2:
        raise MalformedRequest(f"{name} has no version")
    (version,) = struct.unpack_from(">h", view)
    return _decode(_decoder(name, min(version, _definition(name).versions[1])), view, 2)


def encode_data(name: str, version: int, message: Message) -> bytes:
    """`message` with its int16 version in front."""
    return struct.pack(">h", version) + _encode(_encoder(name, version), message)


def knows(api_key: int) -> bool:
    """True when there is a definition for `api_key`."""
    try:
        _definition(f"{ApiKey(api_key).schema_name}Request")
    except (AttributeError, ValueError):
        return False
    return True


def valid_versions(api_key: int) -> tuple[int, int]:
    """(lowest, highest) version the definition covers, which may exceed what the broker serves."""
    return _definition(f"{ApiKey(api_key).schema_name}Request").versions


def is_flexible_definition(api_key: int, api_version: int) -> bool:
    """What `is_flexible` must agree with, read from the definition."""
    return _definition(f"{ApiKey(api_key).schema_name}Request").is_flexible(api_version)


def __getattr__(name: str) -> Any:
    """A message class, on first use. Raises AttributeError."""
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _definition(name).message_class


class _Definition:
    """A parsed message definition with its class."""

    __slots__ = ("flexible_versions", "message_class", "struct", "versions")

    def __init__(self, content: dict[str, Any]) -> None:
        _resolve_common_structs(content.get("fields", []), {each["name"]: each["fields"] for each in content.get("commonStructs", [])})
        fields = _kafka_fields()
        parse = fields.BaseField.parse_versions
        self.versions: tuple[int, int] = parse(content["validVersions"])
        self.flexible_versions: tuple[int, int] = parse(content["flexibleVersions"])
        self.struct: Field = _parse_struct(fields, content)
        self.message_class = make_class(content["name"], self.struct)

    def is_flexible(self, version: int) -> bool:
        return self.flexible_versions[0] <= version <= self.flexible_versions[1]


_definitions: dict[str, _Definition] = {}
# (api key, version) -> function: found by one lookup, for a name is slow to make
_request_decoders: dict[tuple[int, int], Decoder] = {}
_response_decoders: dict[tuple[int, int], Decoder] = {}
_request_encoders: dict[tuple[int, int], Encoder] = {}
_response_encoders: dict[tuple[int, int], Encoder] = {}
_decoders: dict[tuple[str, int], Decoder] = {}
_encoders: dict[tuple[str, int], Encoder] = {}


def _decode(decode: Decoder, body: Buffer, pos: int = 0) -> Message:
    try:
        message, _end = decode(memoryview(body), pos)
    except MalformedRequest:
        raise
    except (struct.error, IndexError, ValueError) as problem:
        raise MalformedRequest(f"body ends early: {problem}") from problem
    return message


def _decoder_of(api_key: int, kind: str, version: int, found: dict[tuple[int, int], Decoder]) -> Decoder:
    decode = found[api_key, version] = _decoder(_name_of(api_key, kind), version)
    return decode


def _encoder_of(api_key: int, kind: str, version: int, found: dict[tuple[int, int], Encoder]) -> Encoder:
    encode = found[api_key, version] = _encoder(_name_of(api_key, kind), version)
    return encode


def _name_of(api_key: int, kind: str) -> str:
    """`InitProducerIdRequest`. Raises MalformedRequest for a key that does not exist or has no definition here."""
    if not knows(api_key):
        raise MalformedRequest(f"no message with key {api_key} is known")
    return f"{ApiKey(api_key).schema_name}{kind}"


def _decoder(name: str, version: int) -> Decoder:
    found = _decoders.get((name, version))
    if found is None:
        definition = _definition(name)
        _check_version(definition, name, version)
        found = compile_decoder(name, definition.struct, version, definition.is_flexible(version))
        _decoders[name, version] = found
    return found


def _encode(encode: Encoder, message: Message) -> bytearray:
    out = bytearray()
    encode(message, out)
    return out


def _encoder(name: str, version: int) -> Encoder:
    found = _encoders.get((name, version))
    if found is None:
        definition = _definition(name)
        _check_version(definition, name, version)
        found = compile_encoder(name, definition.struct, version, definition.is_flexible(version))
        _encoders[name, version] = found
    return found


def _check_version(definition: _Definition, name: str, version: int) -> None:
    lowest, highest = definition.versions
    if not lowest <= version <= highest:
        raise MalformedRequest(f"{name} has versions {lowest} to {highest}, not {version}")


def _definition(name: str) -> _Definition:
    found = _definitions.get(name)
    if found is None:
        found = _definitions[name] = _Definition(_load(name))
    return found


def _load(name: str) -> dict[str, Any]:
    """The definition file `name`: ours first, for it may be newer. Lines that are comments are cut. Raises AttributeError."""
    folder = _folder_of(_kafka_fields()).rpartition("fields")[0]
    try:
        text = _read_beside(schemas, f"{_folder_of(schemas)}/{name}.json")
    except FileNotFoundError:
        try:
            text = _read_beside(_kafka_fields(), f"{folder}resources/{name}.json")
        except FileNotFoundError:
            raise AttributeError(f"no message definition {name!r}") from None
    content: dict[str, Any] = json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))
    return content


def _folder_of(package: ModuleType) -> str:
    return next(iter(package.__path__))


def _read_beside(package: ModuleType, path: str) -> str:
    """A data file of `package`, through its loader: importlib.resources alone would cost a tenth of the start-up time."""
    assert package.__spec__ is not None
    assert isinstance(package.__spec__.loader, SourceFileLoader)
    return package.__spec__.loader.get_data(path).decode("utf-8")


def _resolve_common_structs(fields: list[dict[str, Any]], common: dict[str, list[dict[str, Any]]]) -> None:
    """Give each field of a shared struct type its fields."""
    for field in fields:
        shared = common.get(field["type"].removeprefix("[]"))
        if shared is not None and "fields" not in field:
            field["fields"] = shared
        _resolve_common_structs(field.get("fields", []), common)


def _parse_struct(fields: ModuleType, content: dict[str, Any]) -> Field:
    if content.get("fields"):
        return fields.StructField(content)
    # kafka-python's parser knows no message without fields: give it one that no version has.
    return fields.StructField({**content, "fields": [{"name": "Nothing", "type": "int8", "versions": "none"}]})


def _kafka_fields() -> ModuleType:
    """kafka-python's `protocol.schemas.fields`, loaded apart from the package `kafka`."""
    loaded = sys.modules.get(_PRIVATE_NAME)
    if loaded is not None:
        return loaded
    package = importlib.util.find_spec("kafka")
    assert package is not None, "kafka-python is not installed"
    assert package.submodule_search_locations is not None
    folder = f"{package.submodule_search_locations[0]}/protocol/schemas/fields"
    spec = importlib.util.spec_from_file_location(_PRIVATE_NAME, f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_PRIVATE_NAME] = module
    spec.loader.exec_module(module)
    return module
