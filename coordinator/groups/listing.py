"""What administrators are told of groups: ListGroups and DescribeGroups."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from oncelog.coordinator.groups.classic.state import ClassicGroupState
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode, KafkaError

_S = ClassicGroupState
_E = ErrorCode


class DescribedMember(NamedTuple):
    """One member of a DescribeGroups answer."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    """One group of a DescribeGroups answer."""

    group_id: str
    error: ErrorCode
    state: str
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[DescribedMember, ...] = ()
    why: str | None = None


class ListedGroup(NamedTuple):
    """One group of a ListGroups answer."""

    group_id: str
    protocol_type: str
    state: str
    kind: str


class GroupListing:
    def __init__(self, runtime: CoordinatorRuntime[GroupShard]) -> None:
        self._runtime = runtime

    def describe(self, group_id: str) -> DescribedGroup:
        """A classic group; Dead when there is none."""
        if self._runtime.loading:
            return DescribedGroup(group_id, _E.COORDINATOR_LOAD_IN_PROGRESS, "")
        shard = self._runtime.shard_of(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            if group_id not in shard.consumer_groups and shard.offsets.places_of(group_id):
                return DescribedGroup(group_id, _E.NONE, _S.EMPTY.value)
            consumer = group_id in shard.consumer_groups
            why = f"Group {group_id} is not a classic group." if consumer else f"Group {group_id} not found."
            return DescribedGroup(group_id, _E.GROUP_ID_NOT_FOUND, _S.DEAD.value, why=why)
        agreed = group.state is _S.STABLE
        name = group.protocol_name or "" if agreed else ""
        members = tuple(
            DescribedMember(m.member_id, m.group_instance_id, m.client_id, m.client_host, m.metadata(name) if agreed else b"", m.assignment)
            for m in group.members.values()
        )
        return DescribedGroup(group_id, _E.NONE, group.state.value, group.protocol_type or "", name, members)

    def list(self, states: Collection[str] = (), kinds: Collection[str] = ()) -> list[ListedGroup]:
        """All groups, filtered; filters ignore case. Raises KafkaError 14."""
        if self._runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        wanted_states, wanted_kinds = {s.lower() for s in states}, {k.lower() for k in kinds}
        found = []
        for shard in self._runtime.shards():
            for group in shard.groups.values():
                found.append(ListedGroup(group.group_id, group.protocol_type or "", group.state.value, "classic"))
            for consumer in shard.consumer_groups.values():
                found.append(ListedGroup(consumer.group_id, "consumer", consumer.state.value, "consumer"))
            for group_id in shard.offsets.groups():
                if group_id not in shard.groups and group_id not in shard.consumer_groups:
                    found.append(ListedGroup(group_id, "", _S.EMPTY.value, "classic"))
        return [
            group
            for group in found
            if (not wanted_states or group.state.lower() in wanted_states) and (not wanted_kinds or group.kind in wanted_kinds)
        ]
