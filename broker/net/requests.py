"""What happens between a frame and its answer's bytes: header, registry, body, handler, encoding."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from oncelog.broker.auth.tokens import later, take_bare_token
from oncelog.broker.context import BrokerContext, RequestContext
from oncelog.broker.net.connection import BlockedRequests, Connection, Slot
from oncelog.broker.net.dispatch import Answer, Api, CloseConnection
from oncelog.broker.net.splitting import handled_in_turns, split_of
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.header import parse_request_header, response_header
from oncelog.protocol.primitives import MalformedRequest, Piece

if TYPE_CHECKING:
    from oncelog.broker.auth.sasl import SaslState
    from oncelog.storage.env import Clock

_log = logging.getLogger(__name__)
_API_VERSIONS = int(ApiKey.API_VERSIONS)
Finish = Callable[[Any], list[Piece]]


class RequestHandler:
    """Serves the requests of all connections of one broker."""

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._apis = broker.apis
        self.clock: Clock = broker.env.clock
        self._api_versions_max = self._apis.max_version(self._apis.declaration(ApiKey.API_VERSIONS))

    def handle(self, frame: memoryview, connection: Connection) -> list[Piece] | Slot | asyncio.Future[Any] | BlockedRequests:
        """The answer to one frame: buffers (none: nothing is sent), a slot that will be filled with them, or a future of them.

        Raises CloseConnection and MalformedRequest: the connection is then closed, as Kafka does.
        """
        sasl = connection.sasl
        if sasl is not None and sasl.takes_tokens:
            return take_bare_token(bytes(frame), sasl, connection, self.clock.monotonic_ms())
        key, version, correlation_id, client_id, body_offset = parse_request_header(frame)
        if sasl is not None and not sasl.allows(key, self.clock.monotonic_ms()):
            return self._out_of_order(sasl, (key, version, correlation_id), frame[body_offset:], connection)
        if key == _API_VERSIONS and version > self._api_versions_max:
            api, version = self._apis.find(key, 0), -1  # the body is not read: its version is not ours
        else:
            api = self._apis.find(key, version)
        ctx = RequestContext(self._broker, connection, version, client_id, self.clock.time_ms())
        try:
            reply = self._call(api, frame[body_offset:], ctx)
        except MalformedRequest as malformed:
            raise CloseConnection(f"malformed {api.key.name} version {version}: {malformed}") from malformed
        if type(reply) is Slot:
            reply.head = response_header(key, version, correlation_id)
            return reply
        if isinstance(reply, BlockedRequests):
            return BlockedRequests(_then(reply.future, partial(_finish, api, max(version, 0), correlation_id)), reply.until)
        if isinstance(reply, asyncio.Future):
            return _then(reply, partial(_finish, api, max(version, 0), correlation_id))
        return _finish(api, version if version > 0 else 0, correlation_id, reply)

    def _call(self, api: Api, body: memoryview, ctx: RequestContext) -> Answer:
        assert api.handle is not None
        if api.raw:
            return api.handle(body, ctx)
        split = split_of(api, ctx.api_version, body)
        if split is not None:
            return handled_in_turns(api, split, body, ctx)
        from oncelog.protocol import messages

        request = messages.decode_request(api.key, ctx.api_version, body) if ctx.api_version >= 0 else None
        return api.handle(request, ctx)

    def _out_of_order(
        self, sasl: SaslState, header: tuple[int, int, int], body: memoryview, connection: Connection
    ) -> asyncio.Future[list[Piece]]:
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


def _finish(api: Api, version: int, correlation_id: int, value: Any) -> list[Piece]:
    """A handler's value as the buffers of an answer."""
    if value is None:
        return []
    head = response_header(api.key, version, correlation_id)
    if api.raw:
        return [head, *value]
    if isinstance(value, bytearray):
        return [head, value]  # encoded already
    from oncelog.protocol import messages

    return [head, messages.encode_response(api.key, version, value)]


def _then(reply: asyncio.Future[Any], finish: Finish) -> asyncio.Future[list[Piece]]:
    finished: asyncio.Future[list[Piece]] = reply.get_loop().create_future()

    def settle(done: asyncio.Future[Any]) -> None:
        if finished.done():
            return
        if done.cancelled():
            finished.cancel()
            return
        error = done.exception()
        if error is not None:
            finished.set_exception(error)
            return
        try:
            finished.set_result(finish(done.result()))
        except (KafkaError, AssertionError, ValueError, TypeError, AttributeError) as broken:
            finished.set_exception(broken)  # an answer that cannot be encoded: told to the connection, which logs and closes

    reply.add_done_callback(settle)
    return finished
