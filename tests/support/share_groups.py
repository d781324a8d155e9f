"""Members of share groups in unit tests: on the group coordinator alone, and over the handlers of a whole broker."""

from __future__ import annotations

import uuid
from typing import Any

from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.groups.share.heartbeat import ShareAnswer, ShareHeartbeat
from oncelog.coordinator.groups.share.state import ShareGroup
from oncelog.protocol.api_keys import ApiKey

from support.group_machine import Machine
from support.whole_broker import WholeBroker

INTERVAL_MS = 1_000  # of assignments


def beat(
    machine: Machine, member: str | None, epoch: int, *names: str, group: str = "g", rack: str | None = None, renames: bool = False
) -> ShareAnswer:
    """One heartbeat; without names they are as before, unless `renames`: then there are none."""
    topics = names if names or renames else None
    answer = machine.groups.share_group_heartbeat(ShareHeartbeat(group, member, epoch, rack, topics, "client", "/h"))
    assert not isinstance(answer, Deferred)
    return answer


def joined(machine: Machine, member: str = "m", *names: str, group: str = "g") -> ShareAnswer:
    """A member that has been given what it shall have."""
    first = beat(machine, member, 0, *(names or ("a",)), group=group)
    machine.after(INTERVAL_MS)
    last = beat(machine, member, first.member_epoch, group=group)
    return last if last.assignment is not None else last._replace(assignment=first.assignment)


def group_of(machine: Machine, group: str = "g") -> ShareGroup:
    found = machine.groups.share.find(group)
    assert found is not None
    return found


def topic_id(machine: Machine, name: str = "a") -> uuid.UUID:
    topic = machine.logs.topics.get(name)
    assert topic is not None
    return topic.topic_id


def share_beat(whole: WholeBroker, member: str = "m", epoch: int = 0, *names: str, group: str = "g", **more: Any) -> Any:
    """One heartbeat over its handler."""
    topics = list(names) if names else None
    return whole.ask(
        ApiKey.SHARE_GROUP_HEARTBEAT, 1, group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics, **more
    )


def share_member(whole: WholeBroker, member: str = "m", *names: str, group: str = "g") -> Any:
    """The answer with which a member has been given what it shall have."""
    first = share_beat(whole, member, 0, *(names or ("t",)), group=group)
    assert first.error_code == 0, first
    whole.advance(INTERVAL_MS)
    return share_beat(whole, member, first.member_epoch, group=group)


def placed(answer: Any) -> list[list[int]]:
    """The partitions in an answer, topic by topic."""
    return [topic.partitions for topic in answer.assignment.topic_partitions]
