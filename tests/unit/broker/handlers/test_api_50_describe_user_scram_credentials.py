"""DescribeUserScramCredentials: mechanisms and iterations of users, never a secret."""

from __future__ import annotations

import time
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.auth.scram import ScramCredential, ScramMechanism
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.memory_store import written
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
KEY = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS


@pytest.fixture(autouse=True)
def known(whole: WholeBroker) -> None:
    for user, mechanism, iterations in (("bo", 2, 8192), ("al", 2, 5000), ("al", 1, 4096)):
        credential = ScramCredential(b"salt", iterations, b"stored", b"server")
        whole.context.scram_credentials.begin_set(user, ScramMechanism(mechanism), credential, written)


def describe(whole: WholeBroker, *users: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
    return told(whole.ask(KEY, 0, users=[{"name": user} for user in users]))


def told(answer: Any) -> list[tuple[str, int, list[tuple[int, int]]]]:
    assert answer.error_code == ErrorCode.NONE
    return [(each.user, each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos]) for each in answer.results]


def test_named_ones_in_their_order(whole: WholeBroker) -> None:
    assert describe(whole, "bo", "al") == [("bo", 0, [(2, 8192)]), ("al", 0, [(1, 4096), (2, 5000)])]


@pytest.mark.parametrize("users", [None, []])
def test_all_where_none_is_named(whole: WholeBroker, users: list[Any] | None) -> None:
    assert [name for name, *_ in told(whole.ask(KEY, 0, users=users))] == ["al", "bo"]


def test_unknown_and_named_twice(whole: WholeBroker) -> None:
    answer = describe(whole, "al", "no", "al", "", "bo")
    assert [(name, error) for name, error, _ in answer] == [
        ("al", ErrorCode.DUPLICATE_RESOURCE),
        ("no", ErrorCode.RESOURCE_NOT_FOUND),
        ("", ErrorCode.RESOURCE_NOT_FOUND),
        ("bo", ErrorCode.NONE),
    ]
    assert all(infos == [] for _, error, infos in answer if error)


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    answer = whole.ask(KEY, 0, users=[{"name": "al"}, {"name": "no"}])
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert [(each.user, each.error_code, each.credential_infos) for each in answer.results] == [("al", 31, []), ("no", 31, [])]
    assert whole.ask(KEY, 0, users=None).results == []


def test_the_time_grows_with_the_number_of_names_not_with_its_square(whole: WholeBroker) -> None:
    def seconds(count: int) -> float:
        began = time.thread_time()
        describe(whole, *map(str, range(count)))
        return time.thread_time() - began

    assert min(seconds(8_000) for _ in range(2)) < 24 * min(seconds(1_000) for _ in range(3))  # eight times, not 64
