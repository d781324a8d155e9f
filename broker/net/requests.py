"""What happens between a frame and its answer's bytes: header, registry, body, handler, encoding."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from oncelog.broker.answers import later, then
from oncelog.broker.auth.tokens import take_bare_token
from oncelog.broker.context import BrokerContext, RequestContext
from oncelog.broker.net.answer_stream import Pieces, Sent
from oncelog.broker.net.causes import call
from oncelog.broker.net.connection import Connection
from oncelog.broker.net.dispatch import Answer, Api, ApiRegistry, CloseConnection, StraightWay
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.broker.net.splitting import handled_in_turns, split_of
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.header import parse_request_header, response_header
from oncelog.protocol.primitives import Buffer, MalformedRequest

if TYPE_CHECKING:
    from oncelog.broker.auth.sasl import SaslState
    from oncelog.protocol.messages import MessageBase
    from oncelog.storage.env import Clock

_log = logging.getLogger(__name__)
_FIXED = Struct(">iih")  # key and version, correlation id, length of the client id
_API_VERSIONS = int(ApiKey.API_VERSIONS)


class RequestHandler:
    """Serves the requests of all connections of one broker."""

    def __init__(self, broker: BrokerContext, apis: ApiRegistry) -> None:
        self._broker = broker
        self._apis = apis
        self.clock: Clock = broker.env.clock
        self._api_versions_max = apis.version_range(ApiKey.API_VERSIONS)[1]
        # by the first four bytes of a request, key and version; and how many bytes there are for the tags of the header, without any
        self._straight: dict[int, tuple[StraightWay, int]] = {}
        self._ways: dict[int, StraightWay] = {}  # the same, by key

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        """The answer to one frame (no buffers: nothing is sent), now or later.

        Raises CloseConnection and MalformedRequest: the connection is then closed, as Kafka does.
        """
        sasl = connection.sasl
        if sasl is not None and sasl.takes_tokens:
            return take_bare_token(bytes(frame), sasl, connection, self.clock.monotonic_ms())
        kind = 0
        if len(frame) >= _FIXED.size:
            kind, correlation_id, client_bytes = _FIXED.unpack_from(frame)
            straight = self._straight.get(kind)
            if straight is not None and (sasl is None or sasl.allows(kind >> 16, self.clock.monotonic_ms())):
                way, tags = straight
                begin = _FIXED.size + tags + (client_bytes if client_bytes > 0 else 0)
                if begin < len(frame) and not (tags and frame[begin - 1]):
                    answer = way(kind & 0xFFFF, frame, begin, correlation_id, connection)
                    if answer is not None:
                        return answer
        key, version, correlation_id, client_id, body_offset = parse_request_header(frame)
        if sasl is not None and not sasl.allows(key, self.clock.monotonic_ms()):
            return self._out_of_order(sasl, (key, version, correlation_id), frame[body_offset:], connection)
        if key == _API_VERSIONS and version > self._api_versions_max:
            api, version = self._apis.find(key, 0), -1  # the body is not read: its version is not ours
        else:
            api = self._apis.find(key, version)
            if api.straight is not None:
                self._learn(api, version, kind)
        ctx = RequestContext(self._broker, connection, version, client_id, self.clock.time_ms())
        try:
            reply = self._call(api, frame[body_offset:], ctx)
        except MalformedRequest as malformed:
            raise CloseConnection(f"malformed {api.key.name} version {version}: {malformed}") from malformed
        finish = partial(_finish, self._broker.errors, api, version if version > 0 else 0, correlation_id)
        return then(reply, finish) if isinstance(reply, Deferred) else finish(reply)

    def _learn(self, api: Api, version: int, kind: int) -> None:
        """Requests of this kind have a straight way from now on, if there is one."""
        assert api.straight is not None
        flexible_from = FIRST_FLEXIBLE_VERSION[api.key]
        if version >= (flexible_from if api.straight_from is None else api.straight_from):
            way = self._ways.get(api.key) or self._ways.setdefault(api.key, api.straight(self._broker))
            self._straight[kind] = way, int(version >= flexible_from)

    def _call(self, api: Api, body: memoryview, ctx: RequestContext) -> Answer:
        assert api.handle is not None
        if api.raw:
            return api.handle(body, ctx)
        split = split_of(api, ctx.api_version, body)
        if split is not None:
            return handled_in_turns(api, split, body, ctx)
        return call(api, _codec()[0](api.key, ctx.api_version, body) if ctx.api_version >= 0 else None, ctx)

    def _out_of_order(self, sasl: SaslState, header: tuple[int, int, int], body: memoryview, connection: Connection) -> Deferred[Pieces]:
        """What SASL does not allow now ends the connection, while tokens are awaited behind an answer of error 34."""
        key, version, correlation_id = header
        why = f"request {key} before authentication on listener {connection.listener_name}"
        if not sasl.tells_refusals:
            raise CloseConnection(why)
        from oncelog.broker.net.error_answers import error_answer
        from oncelog.protocol import messages

        if key == _API_VERSIONS and version > self._api_versions_max:
            version, request = 0, messages.ApiVersionsRequest()
        else:
            request = messages.decode_request(self._apis.find(key, version).key, version, body)
        answer = error_answer(ApiKey(key), version, request, ErrorCode.ILLEGAL_SASL_STATE)
        if answer is None:
            raise CloseConnection(why)
        connection.turned_away("authentication failed", reason=why)
        connection.close_after_response()
        return later(
            [response_header(key, version, correlation_id), messages.encode_response(ApiKey(key), version, answer)], sasl.failure_delay_ms
        )

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        """An error of ours: the whole trace, and the connection is closed by the caller."""
        _log.error("failed request client=%s", connection.client_name, exc_info=error)


def _finish(errors: ErrorCounts, api: Api, version: int, correlation_id: int, value: Any) -> Pieces:
    """A handler's value as the buffers of an answer."""
    if value is None:
        return []
    head = response_header(api.key, version, correlation_id)
    if api.raw or isinstance(value, list):
        return [head, *value]
    if isinstance(value, bytearray):
        return [head, value]  # encoded already
    errors.of(api.key, value)
    return [head, _codec()[1](api.key, version, value)]


@cache
def _codec() -> tuple[Callable[[int, int, Buffer], MessageBase], Callable[[int, int, MessageBase], bytearray]]:
    """Of requests to decode and answers to encode: imported by the first that needs it, as a start can do without."""
    from oncelog.protocol import messages

    return messages.decode_request, messages.encode_response
