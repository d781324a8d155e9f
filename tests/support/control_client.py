"""Asks a control port over HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """`body`: what JSON made of it, else the text."""

    status: int
    body: Any
    headers: Mapping[str, str]


def ask(url: str, method: str, path: str, body: object = None, **headers: str) -> Answer:
    """`body`: bytes as they are, anything else as JSON. `headers`: with _ for -."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, data, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        told = json.loads(text) if text and answer.headers.get("content-type") == "application/json" else text
        return Answer(answer.status, told, {name.lower(): value for name, value in answer.headers.items()})
    finally:
        connection.close()
