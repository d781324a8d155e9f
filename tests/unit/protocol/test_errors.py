"""Codes as Kafka numbers them, and the exception that carries one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError

GOLDEN = Path(__file__).parents[2] / "golden"


def test_numbers_go_without_gap_from_unknown_server_error_up() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, len(ErrorCode) - 1))


def test_codes_that_clients_act_upon() -> None:
    """A client that retries, rejoins or gives up knows them by number."""
    known = {2: "CORRUPT_MESSAGE", 22: "ILLEGAL_GENERATION", 45: "OUT_OF_ORDER_SEQUENCE_NUMBER", 47: "INVALID_PRODUCER_EPOCH"}
    known |= {
        51: "CONCURRENT_TRANSACTIONS",
        79: "MEMBER_ID_REQUIRED",
        90: "PRODUCER_FENCED",
        110: "FENCED_MEMBER_EPOCH",
        120: "TRANSACTION_ABORTABLE",
        124: "FENCED_STATE_EPOCH",
        133: "SHARE_SESSION_LIMIT_REACHED",
    }
    assert {code: ErrorCode(code).name for code in known} == known


def test_every_code_that_kafka_was_recorded_to_answer_is_known() -> None:
    found: set[int] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            found.update(code for name, code in value.items() if name == "error_code" and isinstance(code, int))
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    for path in GOLDEN.glob("txn/*.json"):
        collect(json.loads(path.read_text()))
    for path in GOLDEN.glob("clients/cases/*.json"):
        collect(json.loads(path.read_text()))
    assert len(found) > 15
    assert [code for code in sorted(found) if code not in set(ErrorCode)] == []


@pytest.mark.parametrize(("message", "text"), [(None, "PRODUCER_FENCED"), ("", "PRODUCER_FENCED"), ("gone", "gone")])
def test_an_error_says_its_message_or_its_name(message: str | None, text: str) -> None:
    error = KafkaError(ErrorCode.PRODUCER_FENCED, message)
    assert (error.code, error.message, str(error)) == (ErrorCode.PRODUCER_FENCED, message, text)
