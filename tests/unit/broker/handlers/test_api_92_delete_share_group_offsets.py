"""DeleteShareGroupOffsets: one verdict a topic, or one for all."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from support.share_groups import share_beat, share_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def delete(whole: WholeBroker, *names: str, group: str = "g") -> Any:
    return whole.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, group_id=group, topics=[{"topic_name": name} for name in names])


def told(answer: Any) -> dict[str, tuple[Any, int, str | None]]:
    return {topic.topic_name: (topic.topic_id, topic.error_code, topic.error_message) for topic in answer.responses}


def emptied(whole: WholeBroker) -> None:
    share_member(whole)
    share_beat(whole, "m", -1)


def test_case_SO04_one_verdict_a_topic(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    emptied(whole)
    answer = delete(whole, "t", "u", "none", "t")
    assert (answer.error_code, answer.error_message) == (E.NONE, None)
    nothing = (None, E.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete.")
    assert told(answer) == {
        "t": (whole.topic_id("t"), E.NONE, None),
        "u": nothing,
        "none": (None, E.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."),
    }
    assert told(delete(whole, "t")) == {"t": nothing}


def test_refusals_of_the_whole_request(whole: WholeBroker) -> None:
    answer = delete(whole, "t")
    assert (answer.error_code, answer.error_message) == (E.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert delete(whole, "t", group="").error_message == "The group id is invalid."
    share_member(whole)
    answer = delete(whole, "t")
    assert (answer.error_code, answer.error_message, answer.responses) == (E.NON_EMPTY_GROUP, "The group is not empty.", [])


def test_what_the_share_coordinator_refuses(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied(whole)
    monkeypatch.setattr(whole.context.persister, "delete", lambda keys: [E.NOT_COORDINATOR for _ in keys])
    assert told(delete(whole, "t")) == {"t": (None, E.NOT_COORDINATOR, "NOT_COORDINATOR")}


def test_case_SA01_without_the_group(whole: WholeBroker) -> None:
    emptied(whole)
    whole.deny(AclOperation.DELETE, ResourceType.GROUP, "g")
    answer = delete(whole, "t")
    assert (answer.error_code, answer.error_message) == (E.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")


def test_case_SA02_without_a_topic(whole: WholeBroker) -> None:
    emptied(whole)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "t")
    assert told(delete(whole, "t")) == {"t": (None, E.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")}
