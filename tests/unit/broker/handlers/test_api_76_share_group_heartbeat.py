"""ShareGroupHeartbeat: what a request becomes, and how an answer or a refusal is told."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.errors import ErrorCode
from support.share_groups import placed, share_beat, share_member
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def test_a_member_joins_and_is_given_its_partitions(whole: WholeBroker) -> None:
    first = share_beat(whole, "m", 0, "t")
    assert (first.error_code, first.member_id, first.heartbeat_interval_ms) == (0, "m", 5_000)
    assert placed(first) == []
    whole.advance(1_000)
    second = share_beat(whole, "m", first.member_epoch)
    assert second.member_epoch > first.member_epoch
    assert placed(second) == [[0, 1]]
    assert second.assignment.topic_partitions[0].topic_id == whole.topic_id("t")
    assert share_beat(whole, "m", second.member_epoch).assignment is None


def test_leaving(whole: WholeBroker) -> None:
    share_member(whole)
    left = share_beat(whole, "m", -1)
    assert (left.error_code, left.member_id, left.member_epoch, left.heartbeat_interval_ms, left.assignment) == (0, "m", -1, 0, None)


def test_refusals_have_their_text_or_none(whole: WholeBroker) -> None:
    refused = share_beat(whole, "", 0, "t")
    assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_REQUEST, None)
    refused = share_beat(whole, "m", 0)
    assert refused.error_message == "SubscribedTopicNames must be set in first request."
    refused = share_beat(whole, "m", 3)
    assert (refused.error_code, refused.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Share group g not found.")
    assert (refused.member_id, refused.member_epoch, refused.heartbeat_interval_ms) == (None, 0, 0)


def test_case_SA01_without_the_group(whole: WholeBroker) -> None:
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    for epoch in (0, 1, -1):
        assert share_beat(whole, "m", epoch, "t").error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert whole.context.groups.listing.list() == []


def test_case_SA02_one_topic_that_may_not_be_described_refuses_all(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "u")
    for name in ("u", "none"):
        answer = share_beat(whole, "m", 0, "t", name)
        assert answer.error_code == (ErrorCode.TOPIC_AUTHORIZATION_FAILED if name == "u" else 0)
