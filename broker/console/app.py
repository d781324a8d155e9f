"""The routes over HTTP: who may ask, bodies, lists in turns, the page's files, the stream of updates."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oncelog.broker.console.access import Access
from oncelog.broker.console.events import Updates
from oncelog.broker.console.model import Refused, Source, Unreachable
from oncelog.broker.console.routes import ROUTES, Asked, Listed
from oncelog.broker.console.routes import Route as Answering
from oncelog.broker.control.bodies import json_body
from oncelog.broker.control.guard import UNAUTHORIZED
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

PAGE = Path(__file__).parent / "page"
_NOT_FOUND, _FAILED, _UNAVAILABLE = 404, 500, 503
_CHUNK_BYTES = 64 << 10  # of JSON made within a turn
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_log = logging.getLogger(__name__)
_Endpoint = Callable[[Request], Awaitable[Response]]


def console_routes(source: Source, access: Access) -> list[Route]:
    """For an ASGI application: the page at `/`, its API below `/api/v1`."""
    updates = Updates(source)

    async def events(request: Request) -> Response:
        stream = updates.listen()
        try:
            first = await anext(stream)
        except Refused as refused:
            return _json(refused.status, {"error": str(refused)})
        return StreamingResponse(_with(first, stream), media_type="text/event-stream", headers=_HEADERS)

    routes = [
        Route("/", _guarded(access, _index), methods=["GET"]),
        Route("/page/{name}", _guarded(access, _file), methods=["GET"]),
        Route("/api/v1/events", _guarded(access, events), methods=["GET"]),
    ]
    return routes + [
        Route(path, _guarded(access, _answered(source, answering)), methods=[method]) for (method, path), answering in ROUTES.items()
    ]


def _guarded(access: Access, carry_out: _Endpoint) -> _Endpoint:
    async def guarded(request: Request) -> Response:
        refused = access.refusal(request.method, request.url.path, request.headers)
        if refused is None:
            return await carry_out(request)
        headers = {"WWW-Authenticate": "Bearer"} if refused[0] == UNAUTHORIZED else {}
        return _json(refused[0], {"error": refused[1]}, headers)

    return guarded


def _answered(source: Source, answering: Answering) -> _Endpoint:
    async def answered(request: Request) -> Response:
        try:
            body = await json_body(request, Refused) if request.method == "POST" else {}
            found = await answering(source, Asked(request.path_params, request.query_params, body))
        except Refused as refused:
            return _json(refused.status, {"error": str(refused)})
        except Unreachable as unreachable:
            return _json(_UNAVAILABLE, {"error": str(unreachable)})
        except Exception as error:  # the boundary: an error of ours is told in full, and ends this request only
            _log.error("failed request path=%s", request.url.path, exc_info=error)
            return _json(_FAILED, {"error": "an error of the inspector's, see the log"})
        if isinstance(found, Listed):
            return StreamingResponse(
                _in_turns(found.rows), media_type="application/json", headers={**_HEADERS, "X-Total-Count": str(found.total)}
            )
        return _json(200, found)

    return answered


async def _in_turns(rows: Sequence[Any]) -> AsyncIterator[str]:
    """A list as JSON: a turn for each piece."""
    for piece in _pieces(rows):
        yield piece
        await asyncio.sleep(0)


def _pieces(rows: Sequence[Any]) -> Iterator[str]:
    text = "["
    for at, row in enumerate(rows):
        text += ("," if at else "") + json.dumps(row)
        if len(text) >= _CHUNK_BYTES:
            yield text
            text = ""
    yield text + "]"


async def _with(first: str, stream: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for each in stream:
        yield each


async def _index(request: Request) -> Response:
    return await _page_file("index.html")


async def _file(request: Request) -> Response:
    return await _page_file(request.path_params["name"])


async def _page_file(name: str) -> Response:
    """`name` holds no slash, by its route."""
    path = PAGE / name
    kind = _TYPES.get(path.suffix)
    if kind is None or name.startswith("."):
        return _json(_NOT_FOUND, {"error": f"there is no file {name}"})
    try:
        return Response(await asyncio.to_thread(path.read_bytes), 200, _HEADERS, kind)
    except (OSError, ValueError):  # a NUL is in no name
        return _json(_NOT_FOUND, {"error": f"there is no file {name}"})


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """ASCII: what a client names may be no text that UTF-8 has."""
    return Response(json.dumps(value).encode("ascii"), status, {**_HEADERS, **(headers or {})}, "application/json")
