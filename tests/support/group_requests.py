"""Members of groups of a `WholeBroker`, made by the requests that clients send."""

from __future__ import annotations

from typing import Any, NamedTuple

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

from support.streams_client import part
from support.whole_broker import Asked, WholeBroker

AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}  # the first member's rebalance is over when it has joined
SUBSCRIPTION = bytes.fromhex("0001000000010001") + b"t" + bytes.fromhex("ffffffff00000000")  # to the topic t


class Member(NamedTuple):
    group: str
    id: str
    generation: int


def joining(broker: WholeBroker, group: str = "g", member: str = "", *, version: int = 5, **fields: Any) -> Asked:
    """A JoinGroup, which may be parked."""
    asked: dict[str, Any] = {
        "group_id": group,
        "member_id": member,
        "session_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }
    if version >= 1:
        asked["rebalance_timeout_ms"] = 20_000
    return broker.begin(ApiKey.JOIN_GROUP, version, **{**asked, **fields})


def joined(broker: WholeBroker, group: str = "g", *, instance: str | None = None) -> Member:
    """The only member of a group, which is its leader and waits for its own assignment."""
    answer = joining(broker, group, version=5, group_instance_id=instance).answer()
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        answer = joining(broker, group, answer.member_id, version=5).answer()
    assert answer.error_code == ErrorCode.NONE
    return Member(group, answer.member_id, answer.generation_id)


def syncing(broker: WholeBroker, member: Member, *, version: int = 4, **fields: Any) -> Asked:
    """A SyncGroup with an assignment of its own, which may be parked."""
    asked = {
        "group_id": member.group,
        "generation_id": member.generation,
        "member_id": member.id,
        "assignments": [{"member_id": member.id, "assignment": b"mine"}],
    }
    return broker.begin(ApiKey.SYNC_GROUP, version, **{**asked, **fields})


def stable(broker: WholeBroker, group: str = "g", *, instance: str | None = None) -> Member:
    """The only member of a group, with its assignment."""
    member = joined(broker, group, instance=instance)
    assert syncing(broker, member).answer().error_code == ErrorCode.NONE
    return member


def commit(broker: WholeBroker, group: str, offset: int, *, topic: str = "t", partition: int = 0, metadata: str = "") -> int:
    """A commit of a client that is no member; its error."""
    asked = {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata}
    fields = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": [{"name": topic, "partitions": [asked]}]}
    answer = broker.ask(ApiKey.OFFSET_COMMIT, 8, **fields)
    return int(answer.topics[0].partitions[0].error_code)


def streams_member(broker: WholeBroker, group: str = "g", *, member: str = "m1", parts: tuple[dict[str, Any], ...] = ()) -> Any:
    """A thread of a streams group over topic t; the answer to its first heartbeat."""
    answer = broker.ask(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        0,
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        topology={"epoch": 0, "subtopologies": list(parts or (part("0", "t"),))},
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id=f"process of {member}",
    )
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return answer


def consumer_member(broker: WholeBroker, group: str = "g", *, member: str = "m1", topics: tuple[str, ...] = ("t",)) -> Any:
    """A member of a group of the consumer protocol; the answer to its first heartbeat."""
    answer = broker.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return answer
