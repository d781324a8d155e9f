"""ApiVersions (18), v0-4.

The table of what is served, from the handlers themselves. v1: throttle time. v3: flexible, client software name and version, features.
v4: features whose minimum is 0. A version above ours is answered with a v0 body, error 35 and this API's own range (KIP-511); a software
name or version that is not one is 42. The body is packed by hand: it is the first answer that anybody waits for.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import TYPE_CHECKING

from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.features import features, supported
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.primitives import MalformedRequest, read_unsigned_varint

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

_SOFTWARE = re.compile(rb"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_range = Struct(">hhh").pack
_int16 = Struct(">h").pack
_int32 = Struct(">i").pack
_int64 = Struct(">q").pack
_levels = Struct(">hh").pack
_cache: dict[tuple[int, int, bool, bool, bool], bytes] = {}


@api(ApiKey.API_VERSIONS, 0, 4, raw=True)
def handle(body: memoryview, ctx: RequestContext) -> list[bytes]:
    """The table, in the form of the version asked for."""
    version = ctx.api_version
    if version < 0:
        own = ctx.broker.apis.version_range(ApiKey.API_VERSIONS)
        return [_int16(ErrorCode.UNSUPPORTED_VERSION) + _int32(1) + _range(ApiKey.API_VERSIONS, *own)]
    if version >= 3 and not _has_valid_software(body):
        return [_pack(version, ErrorCode.INVALID_REQUEST, [], None)]
    if ctx.connection.sasl is not None:
        ctx.connection.sasl.versions_told()
    group, share = ctx.broker.config.group, ctx.broker.config.share_group.enabled
    key = (version, ctx.broker.config.txn.transaction_version, group.group_consumer_enabled, share, group.group_streams_enabled)
    if key not in _cache:
        _cache[key] = _pack(version, ErrorCode.NONE, ctx.broker.apis.advertised(), ctx)
    return [_cache[key]]


def _has_valid_software(body: memoryview) -> bool:
    pos = 0
    for _field in ("client_software_name", "client_software_version"):
        length, pos = read_unsigned_varint(body, pos)
        if length == 0 or pos + length - 1 > len(body):
            raise MalformedRequest("client software name or version is missing")
        if not _SOFTWARE.fullmatch(bytes(body[pos : pos + length - 1])):
            return False
        pos += length - 1
    return True


def _pack(version: int, error: ErrorCode, apis: list[tuple[int, int, int]], ctx: RequestContext | None) -> bytes:
    if version < 3:
        body = _int16(error) + _int32(len(apis)) + b"".join(_range(*one) for one in apis)
        return body + _int32(0) if version >= 1 else body
    body = _int16(error) + _varint(len(apis) + 1) + b"".join(_range(*one) + b"\0" for one in apis) + _int32(0)
    if ctx is None:
        return body + b"\0"
    declared = features(
        transaction_version=ctx.broker.config.txn.transaction_version,
        group_version=int(ctx.broker.config.group.group_consumer_enabled),
        share_version=int(ctx.broker.config.share_group.enabled),
        streams_version=int(ctx.broker.config.group.group_streams_enabled),
    )
    offered = supported(declared, version)
    switched_on = [feature for feature in declared if feature.level]
    tags = [
        _varint(len(offered) + 1) + b"".join(_name(f.name) + _levels(f.min_version, f.max_version) + b"\0" for f in offered),
        _int64(1),
        _varint(len(switched_on) + 1) + b"".join(_name(f.name) + _levels(f.level, f.level) + b"\0" for f in switched_on),
    ]
    return body + _varint(len(tags)) + b"".join(_varint(number) + _varint(len(tag)) + tag for number, tag in enumerate(tags))


def _name(text: str) -> bytes:
    return _varint(len(text) + 1) + text.encode()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
