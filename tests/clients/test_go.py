"""sarama and franz-go, unmodified."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.programs import facts, output

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("go") is None, reason="needs Go"),
    pytest.mark.timeout(300),  # the first build compiles both clients
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("go") / "clients"
    output(["go", "build", "-o", str(built), "."], Path(__file__).parent / "go", seconds=240)
    return built


@pytest.fixture
def go(program: Path, bootstrap: str) -> Any:
    def run(scenario: str, name: str) -> dict[str, Any]:
        return facts([str(program), scenario, bootstrap, name])

    return run


@pytest.mark.parametrize("client", ["sarama", "franz"])
def test_group_reads_what_was_sent(go: Any, name: str, client: str) -> None:
    assert go(f"{client}-group", name) == {"same": True, "committed": 30}


def test_sarama_transactions(go: Any, name: str) -> None:
    assert go("sarama-transactions", name) == {"values": ["0", "2", "4"]}


def test_franz_transactions_bump_the_epoch(go: Any, name: str) -> None:
    assert go("franz-transactions", name) == {"values": ["0", "2", "4"], "bumps": 4}


def test_franz_shares(go: Any, name: str) -> None:
    assert go("franz-share", name) == {"records": 20, "twice": True}
