"""Rights: every request by eighty users with one right each, held to the error codes that Apache Kafka 4.3.0 answered.

python tests/referee/record_rights.py      records tests/golden/rights_4.3.0.json anew from a real Apache Kafka
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import rights_sweep as rights
from support.process import BrokerProcess

GOLDEN = Path(__file__).parents[1] / "golden" / "rights_4.3.0.json"
RECORDED: dict[str, dict[str, list[str]]] = {
    request: {codes: users.split() for codes, users in by_codes.items()} for request, by_codes in json.loads(GOLDEN.read_text()).items()
}

# (request, Kafka's codes, ours) and why; nothing that Kafka refuses is served
DIFFERENCES = {
    ("TxnOffsetCommit.v3", "topics.partitions.error_code=14", "topics.partitions.error_code=49"): (
        "a producer id that nobody gave out: Kafka's client would ask again for ever"
    ),
}


@pytest.fixture(scope="module")
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """Request -> user -> codes, of a broker where rules decide."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs a broker with users and rules; the recording is a real Kafka's")
    with BrokerProcess(tmp_path_factory.mktemp("rights") / "data", rights.settings()) as broker:
        rights.prepare(broker.bootstrap)
        yield rights.sweep(broker.bootstrap)


def test_the_recording_is_of_these_requests_and_users() -> None:
    assert set(RECORDED) == {request.name for request in rights.REQUESTS}
    assert {user for by_codes in RECORDED.values() for users in by_codes.values() for user in users} == set(rights.users())


@pytest.mark.parametrize("request_name", [request.name for request in rights.REQUESTS])
def test_same_codes_as_kafka(answered: dict[str, dict[str, str]], request_name: str) -> None:
    recorded = {user: codes for codes, users in RECORDED[request_name].items() for user in users}
    pairs = {user: (request_name, codes, answered[request_name][user]) for user, codes in recorded.items()}
    assert {user: pair for user, pair in pairs.items() if pair[1] != pair[2] and pair not in DIFFERENCES} == {}


def test_every_difference_still_is_one(answered: dict[str, dict[str, str]]) -> None:
    for request_name, kafkas, ours in DIFFERENCES:
        assert {answered[request_name][user] for user in RECORDED[request_name][kafkas]} == {ours}
