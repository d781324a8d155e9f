"""The numbered cases of exactly-once behaviour, replayed from recordings of Apache Kafka 4.3.0."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.replay import Replay

GOLDEN = Path(__file__).parents[1] / "golden" / "txn"
# each needs what one connection to a default broker cannot do; the name of the test that does it instead
ELSEWHERE = {
    13: "markers held back: unit/coordinator",
    16: "after 32,766 epochs: unit/coordinator",
    18: "InitProducerId v6 is offered only when switched on: unit/coordinator",
    25: "markers held back: unit/coordinator",
    26: "markers held back: unit/coordinator",
    28: "needs SASL: unit/broker",
    35: "markers held back: unit/coordinator",
    40: "after 32,766 epochs: unit/coordinator",
    43: "the transaction log refuses: unit/coordinator",
    48: "ids expire: unit/coordinator",
    49: "killed: crash",
    50: "killed: crash",
    51: "killed: crash",
    65: "markers held back: unit/coordinator",
    66: "restarted, and we keep five batches: crash",
    72: "needs SASL: unit/broker",
    79: "killed: unit/storage",
    80: "killed: unit/storage",
    93: "verification off for a while: unit/coordinator",
}
# an operator's marker is told to our coordinator: its transaction is over then, and a late commit is refused, not believed
ABORTED = {"transaction_states": [{"transaction_state": "CompleteAbort", "producer_epoch": 6, "topics": []}]}
REFUSED = {"error_code": 90}
OURS: dict[int, dict[int, Any]] = {68: {4: None, 5: ABORTED, 6: REFUSED, 7: ABORTED}, 69: {6: REFUSED}, 70: {7: REFUSED}}
# None: not compared, because the coordinator's own marker may be there already or not yet
EXHAUSTED = {14, 15}  # 32,766 epochs first
CASES = [int(path.stem.split("-")[1]) for path in sorted(GOLDEN.glob("case-*.json"))]


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.slow] if n in EXHAUSTED else []) for n in CASES if n not in ELSEWHERE]
)
def test_case(bootstrap: str, number: int, ours: bool) -> None:
    case = json.loads((GOLDEN / f"case-{number:03}.json").read_text())
    instead = OURS.get(number, {}) if ours else {}
    case["steps"] = [step for step in case["steps"] if instead.get(step["n"], step) is not None]
    replay = Replay(bootstrap, case, f"x{os.getpid()}{int.from_bytes(os.urandom(2), 'big')}", instead)
    try:
        replay.go()
    finally:
        replay.close()
