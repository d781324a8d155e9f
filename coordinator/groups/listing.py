"""What administrators are told of groups: ListGroups and DescribeGroups."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from oncelog.coordinator.groups.classic.state import ClassicGroupState
from oncelog.coordinator.groups.group_type import GroupType
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
            if shard.type_of(group_id) is GroupType.CLASSIC:
                return DescribedGroup(group_id, _E.NONE, _S.EMPTY.value)
            refused = shard.refusal(group_id, GroupType.CLASSIC)
            return DescribedGroup(group_id, refused.code, _S.DEAD.value, why=refused.message)
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
        wanted_states, wanted_kinds = {_state_word(s) for s in states}, {k.lower() for k in kinds}
        found = []
        for shard in self._runtime.shards():
            for group in shard.groups.values():
                found.append(ListedGroup(group.group_id, group.protocol_type or "", group.state.value, GroupType.CLASSIC.value))
            for typed in shard.heartbeat_groups():
                found.append(ListedGroup(typed.group_id, typed.type.value, typed.state.value, typed.type.value))
            for group_id in shard.offsets.groups():
                if group_id not in shard.groups and shard.heartbeat_group(group_id) is None:
                    found.append(ListedGroup(group_id, "", _S.EMPTY.value, GroupType.CLASSIC.value))
        return [
            group
            for group in found
            if (not wanted_states or _state_word(group.state) in wanted_states) and (not wanted_kinds or group.kind in wanted_kinds)
        ]


def _state_word(state: str) -> str:
    """Also `not_ready`, as Kafka's filter alone wants the NotReady of a streams group."""
    return state.replace("_", "").lower()
