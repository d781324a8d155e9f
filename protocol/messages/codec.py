"""Message objects from bytes and back, by functions made for each message and version (`decoder`, `encoder`) when first used."""

from __future__ import annotations

import struct
from typing import TypeAlias

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages.classes import MessageBase
from oncelog.protocol.messages.decoder import Decoder, compile_decoder
from oncelog.protocol.messages.definitions import Definition, definition
from oncelog.protocol.messages.encoder import Encoder, compile_encoder
from oncelog.protocol.primitives import Buffer, MalformedRequest

Message: TypeAlias = MessageBase


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
    return _decode(_decoder(name, min(version, definition(name).versions[1])), view, 2)


def encode_data(name: str, version: int, message: Message) -> bytes:
    """`message` with its int16 version in front."""
    return struct.pack(">h", version) + _encode(_encoder(name, version), message)


def knows(api_key: int) -> bool:
    """True when there is a definition for `api_key`."""
    try:
        definition(f"{ApiKey(api_key).schema_name}Request")
    except (AttributeError, ValueError):
        return False
    return True


def valid_versions(api_key: int) -> tuple[int, int]:
    """(lowest, highest) version the definition covers, which may exceed what the broker serves."""
    return definition(f"{ApiKey(api_key).schema_name}Request").versions


def is_flexible_definition(api_key: int, api_version: int) -> bool:
    """What `is_flexible` must agree with, read from the definition."""
    return definition(f"{ApiKey(api_key).schema_name}Request").is_flexible(api_version)


# (api key, version) -> function: found by one lookup, for a name is slow to make
_request_decoders: dict[tuple[int, int], Decoder] = {}
_response_decoders: dict[tuple[int, int], Decoder] = {}
_request_encoders: dict[tuple[int, int], Encoder] = {}
_response_encoders: dict[tuple[int, int], Encoder] = {}
_decoders: dict[tuple[str, int], Decoder] = {}
_encoders: dict[tuple[str, int], Encoder] = {}


def _decode(decode: Decoder, body: Buffer, pos: int = 0) -> Message:
    try:
        message: Message = decode(memoryview(body), pos)[0]
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
        defined = definition(name)
        _check_version(defined, name, version)
        found = compile_decoder(name, defined.struct, version, defined.is_flexible(version))
        _decoders[name, version] = found
    return found


def _encode(encode: Encoder, message: Message) -> bytearray:
    out = bytearray()
    encode(message, out)
    return out


def _encoder(name: str, version: int) -> Encoder:
    found = _encoders.get((name, version))
    if found is None:
        defined = definition(name)
        _check_version(defined, name, version)
        found = compile_encoder(name, defined.struct, version, defined.is_flexible(version))
        _encoders[name, version] = found
    return found


def _check_version(defined: Definition, name: str, version: int) -> None:
    lowest, highest = defined.versions
    if not lowest <= version <= highest:
        raise MalformedRequest(f"{name} has versions {lowest} to {highest}, not {version}")
