"""AlterReplicaLogDirs: there is one directory, and everything is in it."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


def move(whole: WholeBroker, *dirs: tuple[str, str, list[int]], version: int = 2) -> list[tuple[str, list[tuple[int, int]]]]:
    asked: list[dict[str, Any]] = [{"path": path, "topics": [{"name": name, "partitions": numbers}]} for path, name, numbers in dirs]
    answer = whole.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, version, dirs=asked)
    return [(each.topic_name, [(p.partition_index, p.error_code) for p in each.partitions]) for each in answer.results]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("path", ["/data", "/data/", "/data//"])
def test_to_where_it_is(whole: WholeBroker, version: int, path: str) -> None:
    assert move(whole, (path, "t", [0, 1, 2]), version=version) == [("t", [(0, 0), (1, 0), (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)])]


@pytest.mark.parametrize("path", ["/elsewhere", "", "/", "data"])
def test_to_anywhere_else(whole: WholeBroker, path: str) -> None:
    not_there = ErrorCode.LOG_DIR_NOT_FOUND
    assert move(whole, (path, "t", [0]), (path, "gone", [0])) == [("t", [(0, not_there)]), ("gone", [(0, not_there)])]


def test_a_topic_of_two_directories_is_told_once(whole: WholeBroker) -> None:
    assert move(whole, ("/data", "t", [0]), ("/x", "t", [1])) == [("t", [(0, ErrorCode.NONE), (1, ErrorCode.LOG_DIR_NOT_FOUND)])]
    assert move(whole) == []


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert move(whole, ("/data", "t", [0]), ("/x", "gone", [1])) == [("t", [(0, refused)]), ("gone", [(1, refused)])]
