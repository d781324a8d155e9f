"""Bodies of requests, bounded in bytes and in time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

MOST_BODY_BYTES = 64 << 10
BODY_SECONDS = 10.0
_BAD_REQUEST, _TOO_SLOW, _TOO_LARGE = 400, 408, 413


async def json_body(request: Request, refused: Callable[[int, str], Exception]) -> Mapping[str, Any]:
    """The JSON object that is the body, {} for none. Raises what `refused` makes of a status and what is wrong."""
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                data += piece
                if len(data) > MOST_BODY_BYTES:
                    raise refused(_TOO_LARGE, f"a body may have {MOST_BODY_BYTES} bytes")
    except TimeoutError:
        raise refused(_TOO_SLOW, f"the body did not come within {BODY_SECONDS:.0f} seconds") from None
    except ClientDisconnect:
        raise refused(_BAD_REQUEST, "the client has gone") from None
    try:
        found = json.loads(data) if data.strip() else {}
    except RecursionError:
        raise refused(_BAD_REQUEST, "the body is nested too deeply") from None
    except ValueError as wrong:
        raise refused(_BAD_REQUEST, f"the body is no JSON: {wrong}") from None
    if not isinstance(found, dict):
        raise refused(_BAD_REQUEST, "the body is a JSON object, as in {}")
    return found
