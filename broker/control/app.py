"""The routes in HTTP: bodies read and bounded, answers and errors written as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from oncelog.broker.control import metrics, openapi
from oncelog.broker.control.bodies import json_body
from oncelog.broker.control.guard import UNAUTHORIZED, refusal
from oncelog.broker.control.routes import ROUTES, UNAVAILABLE, Asked, Control, Refused, Route
from oncelog.broker.ending import problem
from oncelog.broker.settings.control import ControlEndpoint
from oncelog.broker.testkit.controlled import Controlled, Down
from oncelog.broker.testkit.in_turns import in_turns
from oncelog.broker.testkit.life import Died
from oncelog.protocol.errors import KafkaError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route as StarletteRoute

DOCS = "/docs"
_FAILED = 500
_log = logging.getLogger(__name__)
_Endpoint = Callable[[Request], Awaitable[Response]]


def new_app(controlled: Controlled, endpoint: ControlEndpoint, console: Sequence[StarletteRoute] = ()) -> Starlette:
    """An ASGI application; `console`: the routes of the inspector, which has a guard of its own."""
    control = Control(controlled)

    async def figures(request: Request) -> Response:
        return StreamingResponse(in_turns(metrics.pieces(controlled)), media_type=metrics.CONTENT_TYPE)

    async def described(request: Request) -> Response:
        return _json(200, openapi.document(shown, _version()))

    async def page(request: Request) -> Response:
        return HTMLResponse(openapi.page(shown))

    shown = (*ROUTES, Route("GET", "/metrics", "Figures in Prometheus' text format.", _shown_only))
    served: dict[str, dict[str, _Endpoint]] = {DOCS: {"GET": page}, "/openapi.json": {"GET": described}, "/metrics": {"GET": figures}}
    for route in ROUTES:
        served.setdefault(route.path, {})[route.method] = _carried_out(control, route)
    return Starlette(
        routes=[
            *console,
            *(StarletteRoute(path, _guarded(endpoint, _by_method(methods)), methods=list(methods)) for path, methods in served.items()),
        ],
        exception_handlers={HTTPException: _no_such_route},
    )


def _by_method(methods: Mapping[str, _Endpoint]) -> _Endpoint:
    async def carry_out(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return carry_out


def _guarded(endpoint: ControlEndpoint, carry_out: _Endpoint) -> _Endpoint:
    async def guarded(request: Request) -> Response:
        refused = refusal(endpoint, request.url.path, request.headers)
        if refused is None:
            return await carry_out(request)
        headers = {"WWW-Authenticate": "Bearer"} if refused[0] == UNAUTHORIZED else {}
        return _json(refused[0], {"error": refused[1]}, headers)

    return guarded


def _carried_out(control: Control, route: Route) -> _Endpoint:
    async def carry_out(request: Request) -> Response:
        try:
            body = await json_body(request, Refused) if route.method == "POST" else {}
            answer = await route.carry_out(control, Asked(body, request.path_params.get("id", "")))
        except Refused as refused:
            return _json(refused.status, {"error": str(refused)})
        except Down as down:
            return _json(UNAVAILABLE, {"error": str(down)})
        except Died:
            return _json(UNAVAILABLE, {"error": "the broker crashed meanwhile, at a point that was armed"})
        except (OSError, KafkaError) as error:
            text = problem(error) if isinstance(error, OSError) else str(error)
            return _json(UNAVAILABLE, {"error": f"the broker could not do that: {text}"})
        except Exception as error:  # the boundary: an error of ours is told in full, and ends this request only
            _log.error("failed request path=%s", route.path, exc_info=error)
            return _json(_FAILED, {"error": "an error of the broker's, see its log"})
        if isinstance(answer.body, Iterator):
            return StreamingResponse(in_turns(answer.body), answer.status, media_type="application/json")
        return _json(answer.status, answer.body)

    return carry_out


async def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        text = f"{request.method} is not for {request.url.path}; there is: {(error.headers or {}).get('Allow', '')}"
    else:
        there = ", ".join(dict.fromkeys(route.path for route in ROUTES))
        text = f"there is nothing at {request.url.path}; there are: {there}, /metrics, {DOCS}, and the inspector at / and /api/v1"
    return _json(error.status_code, {"error": text}, error.headers)


async def _shown_only(control: Control, asked: Asked) -> Any:
    raise AssertionError("served beside the routes")


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """ASCII: what a request names may be no text that UTF-8 has."""
    return Response(json.dumps(value).encode("ascii"), status, headers, "application/json")


def _version() -> str:
    try:
        return version("oncelog")
    except PackageNotFoundError:  # not installed
        return "0"
