"""DescribeLogDirs: the one directory, with the sizes of what was asked for."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


class Volume(NamedTuple):
    total: int = 1000
    used: int = 600
    free: int = 400


@pytest.fixture(autouse=True)
def volume(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_of = {"/data": Volume()}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked_of[str(path)])


def describe(whole: WholeBroker, version: int = 4, topics: list[tuple[str, list[int]]] | None = None) -> Any:
    asked = None if topics is None else [{"topic": name, "partitions": numbers} for name, numbers in topics]
    return whole.ask(ApiKey.DESCRIBE_LOG_DIRS, version, topics=asked)


def sizes(answer: Any) -> dict[str, list[tuple[int, int]]]:
    (result,) = answer.results
    return {topic.name: [(p.partition_index, p.partition_size) for p in topic.partitions] for topic in result.topics}


@pytest.mark.parametrize("version", range(1, 6))
def test_everything(whole: WholeBroker, version: int) -> None:
    whole.append("t", b"x" * 100, partition=1)
    answer = describe(whole, version)
    (result,) = answer.results
    assert (answer.error_code, result.error_code, result.log_dir) == (ErrorCode.NONE, ErrorCode.NONE, "/data")
    assert sizes(answer) == {"t": [(0, 0), (1, whole.log("t", 1).size_bytes())]}
    assert whole.log("t", 1).size_bytes() > 100
    assert (result.total_bytes, result.usable_bytes) == ((1000, 400) if version >= 4 else (-1, -1))


def test_what_was_asked_for(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 3)
    assert sizes(describe(whole, topics=[("u", [2, 0, 7, 2]), ("gone", [0])])) == {"u": [(0, 0), (2, 0)]}
    assert sizes(describe(whole, topics=[("u", [1]), ("u", [0])])) == {"u": [(0, 0), (1, 0)]}
    assert sizes(describe(whole, topics=[("u", [])])) == {"u": []}
    assert sizes(describe(whole, topics=[])) == {}


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    for version, error in ((2, ErrorCode.NONE), (3, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)):  # v2 has no place for it
        answer = describe(whole, version)
        assert (answer.error_code, answer.results) == (error, [])
