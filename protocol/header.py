"""Request and response headers.

Request header v1: key int16, version int16, correlation id int32, client id as nullable string; v2 (flexible requests) adds a tag section.
The client id is never compact. Response header v0 is the correlation id; v1 (flexible) adds tags. ApiVersionsResponse always has header v0,
because the client does not know yet what the broker speaks (KIP-511).
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from oncelog.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from oncelog.protocol.primitives import Buffer, MalformedRequest, read_unsigned_varint

_FIXED = Struct(">hhih")
_CORRELATION_ID = Struct(">i")
_pack_flexible = Struct(">ix").pack


class RequestHeader(NamedTuple):
    """What stands before every request body."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int  # in the frame without its length prefix


def parse_request_header(frame: Buffer) -> RequestHeader:
    """The header of `frame` (a request without its length prefix). Raises MalformedRequest.

    An unknown key counts as not flexible: nothing but its four leading bytes can be trusted then.
    """
    size = len(frame)
    if size < _FIXED.size:
        raise MalformedRequest(f"request of {size} bytes is shorter than a header")
    api_key, api_version, correlation_id, length = _FIXED.unpack_from(frame)
    pos = _FIXED.size
    client_id: str | None = None
    if length >= 0:
        end = pos + length
        if end > size:
            raise MalformedRequest("client id reaches beyond the request")
        client_id = str(frame[pos:end], "utf-8", "replace")
        pos = end
    if 0 <= api_key <= _LAST_KEY and api_version >= FIRST_FLEXIBLE_VERSION.get(api_key, 0):
        pos = _skip_tags(frame, pos, size)
    return RequestHeader(api_key, api_version, correlation_id, client_id, pos)


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header bytes of an answer to (`api_key`, `api_version`)."""
    if api_key == _API_VERSIONS or api_version < FIRST_FLEXIBLE_VERSION.get(api_key, 0):
        return _CORRELATION_ID.pack(correlation_id)
    return _pack_flexible(correlation_id)


def _skip_tags(frame: Buffer, pos: int, size: int) -> int:
    """Position after a tag section; the tags themselves mean nothing to us."""
    if pos < size and frame[pos] == 0:
        return pos + 1
    count, pos = read_unsigned_varint(frame, pos)
    for _ in range(count):
        _tag, pos = read_unsigned_varint(frame, pos)
        length, pos = read_unsigned_varint(frame, pos)
        pos += length
        if pos > size:
            raise MalformedRequest("tagged field reaches beyond the request")
    return pos


_LAST_KEY = int(max(ApiKey))
_API_VERSIONS = int(ApiKey.API_VERSIONS)  # a member of an enum is looked up by a function call in Python 3.11
