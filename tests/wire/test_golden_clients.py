"""Wire conversations recorded from Apache Kafka 4.3.0, by section of what stock clients need; on a broker that is fresh to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden_clients import ClientReplay
from support.golden_clients_setup import SETUP

GOLDEN = Path(__file__).parents[1] / "golden" / "clients" / "cases"
CASES = sorted(path.stem for path in GOLDEN.glob("*.json"))
ELSEWHERE: dict[str, str] = {}


@pytest.mark.parametrize("case_id", [case for case in CASES if case not in ELSEWHERE])
def test_case(bootstrap: str, case_id: str, ours: bool) -> None:
    replay = ClientReplay(bootstrap, json.loads((GOLDEN / f"{case_id}.json").read_text()), SETUP.get(case_id), ours=ours)
    try:
        replay.go()
    finally:
        replay.close()
