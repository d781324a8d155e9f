"""AlterUserScramCredentials, and DescribeUserScramCredentials of what it left."""

from __future__ import annotations

import time

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.administered import Harness

pytestmark = pytest.mark.unit


def scram(broker: Harness, *upsertions: tuple[str, int, int, bytes], deletions: tuple[tuple[str, int], ...] = ()) -> list[tuple[str, int]]:
    request = messages.AlterUserScramCredentialsRequest
    asked = request(
        deletions=[request.ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in deletions],
        upsertions=[
            request.ScramCredentialUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=b"p" * 32)
            for name, mechanism, iterations, salt in upsertions
        ],
    )
    return [(result.user, result.error_code) for result in broker.send(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, asked).results]


def test_scram_credentials(broker: Harness) -> None:
    salt = b"s" * 20
    assert scram(broker, ("al", 1, 4096, salt), ("bo", 2, 8192, salt), ("ed", 1, 1, salt)) == [("al", 0), ("bo", 0), ("ed", 93)]
    assert scram(broker, ("al", 1, 4096, salt), ("al", 2, 4096, salt)) == [("al", 92)]
    assert scram(broker, deletions=(("zz", 1),)) == [("zz", 91)]
    request = messages.DescribeUserScramCredentialsRequest
    described = broker.send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request(users=None)).results
    assert [(r.user, [(i.mechanism, i.iterations) for i in r.credential_infos]) for r in described] == [
        ("al", [(1, 4096)]),
        ("bo", [(2, 8192)]),
    ]
    named = [request.UserName(name=name) for name in ("al", "al", "no")]
    described = broker.send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request(users=named)).results
    assert [(r.user, r.error_code) for r in described] == [("al", 92), ("no", 91)]
    assert scram(broker, deletions=(("al", 1),)) == [("al", 0)]


def test_a_user_who_loses_one_credential_and_gets_another_is_named_twice(broker: Harness) -> None:
    salt = b"s" * 20
    assert scram(broker, ("al", 1, 4096, salt)) == [("al", 0)]
    assert scram(broker, ("al", 2, 4096, salt), ("bo", 1, 4096, salt), deletions=(("al", 1),)) == [("al", 92), ("bo", 0)]
    assert broker.broker.scram_credentials.of("al").keys() == {1}


def test_the_time_grows_with_the_number_of_users_not_with_its_square(broker: Harness) -> None:
    def seconds(count: int) -> float:
        began = time.thread_time()
        assert {code for _, code in scram(broker, deletions=tuple((str(user), 1) for user in range(count)))} == {91}
        return time.thread_time() - began

    assert min(seconds(4_000) for _ in range(2)) < 24 * min(seconds(500) for _ in range(3))  # eight times, not 64
