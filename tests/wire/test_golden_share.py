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
    "F02": "a fetch of the session is not in the recording: unit/broker/handlers/test_api_78_share_fetch.py",
    "F28": "a whole transaction, whose end is not in the recording: wire/test_share_fetch.py",
}


@pytest.mark.parametrize("case_id", [case for case in CASES if case not in ELSEWHERE])
def test_case(bootstrap: str, case_id: str, ours: bool) -> None:
    replay = RecordedReplay(bootstrap, json.loads((GOLDEN / f"{case_id}.json").read_text()), SETUP.get(case_id), ours=ours)
    try:
        replay.go()
    finally:
        replay.close()
