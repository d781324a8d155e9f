"""Conversations about share groups recorded from Apache Kafka 4.3.0, with what they leave in internal topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden_share import RecordedReplay
from support.golden_share_setup import SETUP

GOLDEN = Path(__file__).parents[1] / "golden" / "share"
CASES = sorted(path.stem for path in GOLDEN.glob("*.json"))
ELSEWHERE: dict[str, str] = {
    "C01": "configs of share groups are to come",
    "C02": "configs of share groups are to come",
    "F02": "keys 76, 78 are to come",
    "F28": "a whole transaction, whose end is not in the recording: wire/test_share_fetch.py",
    "G01": "keys 76 are to come",
    "G02": "keys 76 are to come",
    "G04": "keys 76 are to come",
    "G05": "keys 76, 77 are to come",
    "G06": "keys 76, 77 are to come",
    "G09": "keys 76, 77 are to come",
    "G10": "keys 76 are to come",
    "G11": "keys 76, 77 are to come",
    "G12": "keys 76 are to come",
    "G14": "keys 76 are to come",
    "G15": "keys 76, 89 are to come",
    "G20": "keys 76, 77 are to come",
    "G21": "configs of share groups are to come",
    "O01": "keys 78, 79, 90 are to come",
    "O02": "keys 76, 78, 91 are to come",
    "O04": "keys 76, 78, 79, 90, 92 are to come",
    "O06": "keys 76, 78, 79, 91 are to come",
    "P09": "keys 78, 79 are to come",
    "P10": "keys 76 are to come",
}


@pytest.mark.parametrize("case_id", [case for case in CASES if case not in ELSEWHERE])
def test_case(bootstrap: str, case_id: str, ours: bool) -> None:
    replay = RecordedReplay(bootstrap, json.loads((GOLDEN / f"{case_id}.json").read_text()), SETUP.get(case_id), ours=ours)
    try:
        replay.go()
    finally:
        replay.close()
