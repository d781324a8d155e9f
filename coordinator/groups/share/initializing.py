"""Share partitions on their way to a state of their own: asked for at the share coordinator, noted in the group when it is there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from oncelog.coordinator.deferred import all_of, followed_by
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.pieces import PIECE, in_pieces
from oncelog.coordinator.groups.share.places import common, existing, keys_of, of_keys, with_more, without
from oncelog.coordinator.groups.share.state import Places, ShareGroup
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister
from oncelog.coordinator.share.state import NOT_SET
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.topics import Topics

_log = logging.getLogger(__name__)
_E = ErrorCode


class Initializing:
    """`retry_ms`: after so long without an answer it is asked again; with one that is an error the next heartbeat asks."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard], persister: SharePersister, retry_ms: int) -> None:
        self._runtime = runtime
        self._persister = persister
        self._retry_ms = retry_ms
        self._asked_ms: dict[SharePartitionKey, int] = {}

    def ask(self, group_id: str) -> None:
        """Have those of the group that are to get a state get one."""
        group = find(self._runtime, group_id)
        if group is None or not group.initializing:
            return
        now_ms, epoch, asked = self._runtime.now_ms(), group.epoch, group.initializing
        keys = [key for key in keys_of(group_id, asked) if now_ms - self._asked_ms.get(key, now_ms - self._retry_ms) >= self._retry_ms]
        if not keys:
            return
        self._asked_ms.update(dict.fromkeys(keys, now_ms))
        replies = in_pieces(self._runtime, keys, lambda some: all_of([self._persister.initialize(key, epoch, NOT_SET) for key in some]))
        followed_by(replies, lambda codes: self._note(keys, codes, asked))

    def _note(self, keys: list[SharePartitionKey], codes: list[ErrorCode], asked: Places) -> None:
        done, group_id = [], keys[0].group_id
        for key, code in zip(keys, codes, strict=True):
            self._asked_ms.pop(key, None)
            if code is _E.NONE:
                done.append(key)
            else:
                _log.warning("share partition not initialized, tried again %s error=%s", key.coordinator_key, code.name)
        try:
            note_initialized(self._runtime, group_id, of_keys(keys, asked), of_keys(done, asked))
        except KafkaError as error:
            _log.warning("initialized share partitions not noted, tried again group=%s error=%s", group_id, error)

    def forget_lost(self, topics: Topics) -> None:
        """Share partitions of topics that are not there any more leave every group."""
        groups = [group for shard in self._runtime.shards() for group in shard.share_groups.values()]
        found = [group.group_id for group in groups if any(topics.by_id(topic_id) is None for topic_id in group.names())]
        self._go_on(self._forget_lost(found, topics))

    def _forget_lost(self, group_ids: list[str], topics: Topics) -> Iterator[None]:
        def change(draft: Draft) -> None:
            group = draft.group
            gone = {topic_id: name for topic_id, name in group.deleting.items() if topics.by_id(topic_id) is not None}
            draft.put_places(existing(group.initializing, topics), existing(group.initialized, topics), gone)

        for start in range(0, len(group_ids), PIECE):
            for group_id in group_ids[start : start + PIECE]:
                try:
                    rewrite(self._runtime, group_id, change)
                except KafkaError as error:
                    _log.warning("a deleted topic stays in a group group=%s error=%s", group_id, error)
            yield

    def _go_on(self, steps: Iterator[None]) -> None:
        """The first of `steps` now, each other in a turn of its own."""
        for _step in steps:
            self._runtime.schedule(self._runtime.now_ms(), lambda _now_ms: self._go_on(steps))
            return


def find(runtime: CoordinatorRuntime[GroupShard], group_id: str) -> ShareGroup | None:
    return runtime.shard_of(group_id).share_groups.get(group_id)


def rewrite(runtime: CoordinatorRuntime[GroupShard], group_id: str, change: Callable[[Draft], None]) -> None:
    """Change a group that may be gone meanwhile. Raises KafkaError."""

    def decide(shard: GroupShard, _now_ms: int) -> Result[None]:
        group = shard.share_groups.get(group_id)
        if group is None:
            return Result(None)
        draft = Draft(group)
        change(draft)
        return Result(None, tuple(draft.records))

    runtime.write(group_id, decide)


def note_initialized(runtime: CoordinatorRuntime[GroupShard], group_id: str, asked: Places, done: Places) -> None:
    """Of `asked` those that are `done` have a state now; the others are to be asked for anew. Raises KafkaError."""

    def change(draft: Draft) -> None:
        group = draft.group
        still = common(group.initializing, done)  # topics may have gone meanwhile
        draft.put_places(without(group.initializing, asked), with_more(group.initialized, still), group.deleting)

    rewrite(runtime, group_id, change)
