"""Verdicts of a request about several partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.share_group import Member, share
from support.whole_broker import WholeBroker

PARTITIONS = 45  # more than are looked at in a turn


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": PARTITIONS})
    share(made, "g", "t")
    for partition in range(PARTITIONS):
        made.append("t", b"v", partition=partition)
    yield made
    made.close()


def request(broker: WholeBroker, member: Member, batches: dict[int, list[dict[str, Any]]]) -> Any:
    asked = [{"partition_index": index, "acknowledgement_batches": some} for index, some in batches.items()]
    topics = [{"topic_id": member.topic_id, "partitions": asked}]
    fields = {"group_id": "g", "member_id": "a", "share_session_epoch": 1, "topics": topics, "is_renew_ack": False}
    return broker.begin(ApiKey.SHARE_ACKNOWLEDGE, 2, connection=member.connection, **fields).answer()


def batch(*types: int) -> list[dict[str, Any]]:
    return [{"first_offset": 0, "last_offset": 0, "acknowledge_types": types}]


def codes(answer: Any) -> dict[int, int]:
    return {p.partition_index: p.error_code for topic in answer.responses for p in topic.partitions}


def test_each_partition_for_itself(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t", partitions=range(PARTITIONS))
    assert len(member.fetch()) == PARTITIONS
    wanted = {index: batch(1) for index in range(PARTITIONS)} | {3: batch(9), 4: [], 99: batch(1)}
    expected = dict.fromkeys(wanted, 0) | {3: 42, 99: 3}
    assert codes(request(broker, member, wanted)) == expected


def test_empty_lists_alone_have_no_verdicts(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    member.fetch()
    assert codes(request(broker, member, {0: []})) == {}
