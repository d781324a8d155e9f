"""Which type a group is, and what a request for another type is told (Kafka's `Group.GroupType`).

Groups of consumers, share and streams groups are `HeartbeatGroup`s: their members come, stay and go by one heartbeat request of their
type. What the rooms of all groups (listing, offsets, removal) need of them is asked of the group, or of the service of its type, a
`GroupWing`.

A group without members keeps its type until it is deleted, but an empty classic one makes room for consumers and streams, an empty group
of these for a classic one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import ClassVar, NamedTuple, Protocol

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition


class GroupType(Enum):
    """The value is what ListGroups calls it."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class HeartbeatGroup(Protocol):
    """A group of any type but classic."""

    type: ClassVar[GroupType]
    expires: ClassVar[bool]  # without members and offsets it goes by itself

    @property
    def group_id(self) -> str: ...

    @property
    def members(self) -> Mapping[str, object]: ...

    @property
    def state(self) -> Enum:
        """Its value is what ListGroups calls it."""

    def all_subscribed_names(self) -> Collection[str]:
        """Topics whose offsets must stay while the group lives."""


class Committer(NamedTuple):
    """Who commits offsets, as the request says. `places`: what for."""

    member_id: str
    epoch: int
    instance_id: str | None
    transactional: bool
    api_version: int
    places: Collection[TopicPartition] = ()


class GroupWing(Protocol):
    """The service of one type."""

    def start(self) -> None:
        """Loading is done."""

    def forget(self, group_id: str) -> None:
        """The group is gone, if it was of this type."""

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """The records that remove the group and everybody in it."""

    def validate_commit(self, group_id: str, committer: Committer) -> ErrorCode:
        """May it commit?"""

    def validate_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """May it ask for offsets? Raises KafkaError."""

    def before_deletion(self, group_id: str) -> Reply[ErrorCode]:
        """Take away what is kept elsewhere, before the group itself goes."""


def is_not_a(group_id: str, wanted: GroupType) -> KafkaError:
    """69: there is a group of another type."""
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {wanted.value} group.")


def not_found(group_id: str, noun: str = "Group") -> KafkaError:
    """69: there is none."""
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{noun} {group_id} not found.")
