"""Share groups at work."""

from __future__ import annotations

from oncelog.coordinator.groups.group_type import Committer
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.groups.share.draft import group_tombstones
from oncelog.coordinator.groups.share.state import ShareGroup
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode

_E = ErrorCode


class ShareGroupService:
    def __init__(self, runtime: CoordinatorRuntime[GroupShard]) -> None:
        self._runtime = runtime

    def start(self) -> None:
        """Loading is done."""

    def find(self, group_id: str) -> ShareGroup | None:
        return self._runtime.shard_of(group_id).share_groups.get(group_id)

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """The records that remove a group."""
        group = self.find(group_id)
        return group_tombstones(group) if group is not None else ()

    def before_deletion(self, group_id: str) -> ErrorCode:
        return _E.NONE

    def forget(self, group_id: str) -> None:
        """The group is gone."""

    # -- offsets: a share group has none

    def validate_commit(self, group_id: str, committer: Committer) -> ErrorCode:
        return _E.GROUP_ID_NOT_FOUND

    def validate_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Nothing is refused: there is nothing to tell."""
