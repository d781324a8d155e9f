"""The control port described for programs (OpenAPI 3.1) and for people (a page without scripts), from the table of its routes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

from oncelog.broker.control.routes import Route
from oncelog.broker.faults.rule import ACTIONS, MATCHES

_TITLE = "oncelog control port"


def document(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """What `/openapi.json` answers."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": version},
        "paths": paths,
        "components": {
            "schemas": {"Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}, "Rule": _rule()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def page(routes: Iterable[Route]) -> str:
    """What `/` answers."""
    rows = "".join(
        f"<tr><td>{route.method}</td><td>{_link(route)}</td><td>{escape(route.does)}</td>"
        f"<td>{f'<code>{escape(json.dumps(route.example))}</code>' if route.example else ''}</td></tr>"
        for route in routes
    )
    actions = "".join(f"<li><code>{kind}</code> {escape(', '.join(more))}</li>" for kind, more in ACTIONS.items())
    matches = escape(", ".join(MATCHES))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_TITLE}</title>'
        "<style>body{font:15px sans-serif;margin:2em}td,th{padding:.3em .8em;text-align:left;vertical-align:top}</style>"
        f'<h1>{_TITLE}</h1><p>JSON both ways; errors are <code>{{"error": "what to do"}}</code>. '
        'For programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f"<table><tr><th>method<th>path<th>what it does<th>for example</tr>{rows}</table>"
        f"<h2>Rules</h2><p>A match may name {matches}. The actions, and what they may be given:</p><ul>{actions}</ul></html>"
    )


def _link(route: Route) -> str:
    return f'<a href="{route.path}">{route.path}</a>' if route.method == "GET" and "{" not in route.path else escape(route.path)


def _operation(route: Route) -> dict[str, Any]:
    error = {"description": "what to do", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    name = re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_")
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": route.does,
        "responses": {str(route.status): {"description": "done"}, "4XX": error, "5XX": error},
    }
    if not route.path.endswith("z"):
        operation["security"] = [{}, {"token": []}]
    if "{id}" in route.path:
        operation["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    if route.example:
        schema = {"$ref": "#/components/schemas/Rule"} if route.path == "/v1/faults" else {"type": "object"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema, "example": route.example}}}
    return operation


def _rule() -> dict[str, Any]:
    given = sorted({name for more in ACTIONS.values() for name in more})
    return {
        "type": "object",
        "required": ["action"],
        "additionalProperties": False,
        "properties": {
            "match": {"type": "object", "additionalProperties": False, "properties": {name: {} for name in MATCHES}},
            "action": {
                "type": "object",
                "required": ["type"],
                "additionalProperties": False,
                "properties": {"type": {"enum": list(ACTIONS)}} | {name: {} for name in given},
            },
            "times": {"type": ["integer", "null"], "minimum": 1, "default": 1},
            "must_hit": {"type": "boolean", "default": False},
        },
    }
