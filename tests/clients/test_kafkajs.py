"""KafkaJS, unmodified. `npm ci` fetches it once, by the lock file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.programs import facts, output

FOLDER = Path(__file__).parent / "node"
pytestmark = pytest.mark.skipif(shutil.which("node") is None or shutil.which("npm") is None, reason="needs Node.js and npm")


@pytest.fixture(scope="module")
def installed() -> Path:
    if not (FOLDER / "node_modules" / "kafkajs").exists():
        output(["npm", "ci", "--no-audit", "--no-fund"], FOLDER)
    return FOLDER


@pytest.fixture
def node(installed: Path, bootstrap: str) -> Any:
    def run(scenario: str, name: str) -> dict[str, Any]:
        return facts(["node", "clients.js", scenario, bootstrap, name], installed)

    return run


def test_group_reads_what_was_sent(node: Any, name: str) -> None:
    assert node("group", name) == {"same": True, "committed": ["50"]}


def test_transactions_commit_abort_and_offsets(node: Any, name: str) -> None:
    assert node("transactions", name) == {"values": ["0", "2", "4"], "committed": ["5"]}


def test_admin(node: Any, name: str) -> None:
    assert node("admin", name) == {"partitions": 3, "listed": True, "left": False}
