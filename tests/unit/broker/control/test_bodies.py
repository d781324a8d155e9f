"""Bodies of requests: a JSON object within the bounds, or a status and why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from oncelog.broker.control import bodies
from oncelog.broker.control.bodies import MOST_BODY_BYTES, json_body
from starlette.requests import Request

pytestmark = pytest.mark.unit


class No(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def of(receive: Callable[[], Awaitable[dict[str, Any]]]) -> Any:
    return asyncio.run(json_body(Request({"type": "http", "method": "POST", "headers": []}, receive), No))  # type: ignore[arg-type, return-value]


def sent(*pieces: bytes) -> Any:
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    return of(receive)


def test_an_object_in_pieces_or_nothing() -> None:
    assert sent(b'{"a"', b": 1}") == {"a": 1}
    assert sent(b" \n") == {}


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"{", 400, "no JSON"),
        (b"\xff", 400, "no JSON"),
        (b"[]", 400, "a JSON object"),
        (b"[" * 50_000, 400, "nested too deeply"),
        (b" " * (MOST_BODY_BYTES + 1), 413, str(MOST_BODY_BYTES)),
    ],
    ids=["cut", "bytes", "list", "deep", "large"],
)
def test_what_is_refused(body: bytes, status: int, why: str) -> None:
    with pytest.raises(No, match=why) as caught:
        sent(body)
    assert caught.value.status == status


def test_a_client_that_goes_or_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(No, match="has gone"):
        of(gone)

    async def silent() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.01)
    with pytest.raises(No, match="did not come") as caught:
        of(silent)
    assert caught.value.status == 408
