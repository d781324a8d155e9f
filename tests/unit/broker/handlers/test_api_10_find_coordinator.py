"""FindCoordinator: this broker for every key that may be asked for, and the internal topic on the way."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
GROUP, TRANSACTION, SHARE = 0, 1, 2
SOME_ID = "XtFasoYATieU9Xv_JK0Pqw"


def find(whole: WholeBroker, version: int, key_type: int, *keys: str) -> Any:
    """The answers to `keys`; before v4 there is one."""
    fields: dict[str, Any] = {"coordinator_keys": list(keys)} if version >= 4 else {"key": keys[0]}
    if version >= 1:
        fields["key_type"] = key_type
    answer = whole.ask(ApiKey.FIND_COORDINATOR, version, **fields)
    return answer.coordinators if version >= 4 else answer


@pytest.mark.parametrize(("key_type", "topic"), [(GROUP, "__consumer_offsets"), (TRANSACTION, "__transaction_state")])
def test_the_internal_topic_is_there_afterwards(whole: WholeBroker, key_type: int, topic: str) -> None:
    assert whole.logs.topics.get(topic) is None
    answer = find(whole, 3, key_type, "a")
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, "NONE")
    assert (answer.node_id, answer.host, answer.port) == (whole.context.node_id, "127.0.0.1", 9092)
    assert whole.logs.topics.get(topic) is not None


def test_version_0_asks_for_a_group(whole: WholeBroker) -> None:
    assert (find(whole, 0, GROUP, "a").error_code, find(whole, 0, GROUP, "a").port) == (ErrorCode.NONE, 9092)


def test_every_key_has_an_answer_of_its_own(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "b")
    told = [(found.key, found.error_code, found.node_id, found.port) for found in find(whole, 4, GROUP, "a", "b", "")]
    node = whole.context.node_id
    assert told == [("a", 0, node, 9092), ("b", ErrorCode.GROUP_AUTHORIZATION_FAILED, -1, -1), ("", 0, node, 9092)]
    assert find(whole, 4, GROUP) == []


@pytest.mark.parametrize(
    ("key_type", "kind", "error"),
    [
        (GROUP, ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (TRANSACTION, ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_who_may_not_describe_is_told_so(whole: WholeBroker, key_type: int, kind: ResourceType, error: ErrorCode) -> None:
    whole.deny(AclOperation.DESCRIBE, kind, "a")
    refused = find(whole, 3, key_type, "a")
    assert (refused.error_code, refused.node_id, refused.host, refused.port) == (error, -1, "", -1)
    assert refused.error_message.endswith("authorization failed.")
    assert whole.logs.topics.all() == [whole.logs.topics.get("t")]
    assert find(whole, 3, 1 - key_type, "a").error_code == ErrorCode.NONE  # the other kind of key of that name


@pytest.mark.parametrize(("version", "key_type"), [(1, SHARE), (5, SHARE), (6, 3), (6, -1)])
def test_key_types_that_are_not_served(whole: WholeBroker, version: int, key_type: int) -> None:
    found = find(whole, version, key_type, "a")
    answer = found[0] if version >= 4 else found
    assert (answer.error_code, answer.node_id, answer.error_message) == (
        ErrorCode.INVALID_REQUEST,
        -1,
        f"Unknown coordinator type {key_type}",
    )


def test_a_share_partition_is_named_by_group_topic_id_and_partition(whole: WholeBroker) -> None:
    fine, several = f"g:{SOME_ID}:0", f"g:with:colons:{SOME_ID}:7"
    wrong = ("just-a-group", "g:not/an uuid:0", f"g:{SOME_ID}:x", f" :{SOME_ID}:0", f"g:{SOME_ID}:2147483648")
    told = {found.key: (found.error_code, found.port) for found in find(whole, 6, SHARE, fine, several, *wrong)}
    assert told == {fine: (0, 9092), several: (0, 9092), **dict.fromkeys(wrong, (ErrorCode.INVALID_REQUEST, -1))}
    topic = whole.logs.topics.get("__share_group_state")
    assert topic is not None
    assert topic.partitions == 50


def test_share_partitions_are_for_brokers_and_administrators(whole: WholeBroker) -> None:
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    assert find(whole, 6, SHARE, f"g:{SOME_ID}:0")[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert whole.logs.topics.get("__share_group_state") is None


def test_a_topic_that_cannot_be_made(whole: WholeBroker) -> None:
    whole.fs.fail(1, only=("create", "mkdir", "pwrite"))
    assert find(whole, 3, GROUP, "a").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert find(whole, 3, GROUP, "a").error_code == ErrorCode.NONE  # asked again, on a disk that works
