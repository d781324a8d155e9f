"""A port of its own: the page is everybody's on this machine, all it tells is its token's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from oncelog.broker.console.directory import open_directory
from oncelog.broker.console.serving import Served
from support.control_client import ask

pytestmark = pytest.mark.unit


def test_everything_but_the_page_needs_the_token(tmp_path: Path) -> None:
    async def run() -> None:
        served = Served(open_directory(tmp_path), 0)
        await served.start()
        url, _, token = served.url.partition("/?token=")

        async def status(path: str, method: str = "GET", **headers: str) -> int:
            return (await asyncio.to_thread(ask, url, method, path, None, **headers)).status

        bears = {"Authorization": f"Bearer {token}"}
        assert await status("/") == 200
        assert await status("/api/v1/overview") == await status("/api/v1/events") == 401
        assert await status("/api/v1/overview", **bears) == 200
        assert await status("/api/v1/transactions/a/abort", "POST", **bears) == 501
        assert await status("/api/v1/overview", **bears, Host="evil.example") == 403
        assert await status("/v1/state", **bears) == 404
        await served.close()

    asyncio.run(run())
