"""A member of a share group as the wire sees it, on a whole broker in memory: fetches, acknowledgements, sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.api_keys import ApiKey

from support.whole_broker import Asked, Connection, WholeBroker

Batch = tuple[int, int, Sequence[int]]


def share(broker: WholeBroker, group: str, topic: str, *, start: int = -1, **configs: str) -> None:
    """Initialize what the group coordinator would when a member joins; `configs` of the group, with `_` for `.`."""
    named = {"share.auto.offset.reset": "earliest"} | {f"share.{name.replace('_', '.')}": value for name, value in configs.items()}
    configure(broker, group, named)
    found = broker.logs.topics.get(topic)
    assert found is not None
    for partition in range(found.partitions):
        assert not broker.context.persister.initialize(SharePartitionKey(group, found.topic_id, partition), 1, start)


def configure(broker: WholeBroker, group: str, configs: Mapping[str, str]) -> None:
    """Set them on the group."""
    before = broker.context.groups.overrides

    def overrides(name: str) -> Mapping[str, str]:
        return {**before(name), **configs} if name == group else before(name)

    broker.context.groups.overrides = overrides


class Member:
    """Keeps the epoch of its session. What waits waits: `began`; all else answers at once."""

    def __init__(self, broker: WholeBroker, group: str, topic: str, member: str = "a", *, partitions: Sequence[int] = (0,)) -> None:
        self.broker = broker
        self.group = group
        self.member = member
        self.topic_id = broker.topic_id(topic)
        self.partitions = partitions
        self.connection = Connection()
        self.epoch = 0

    def begin(self, acks: Sequence[Batch] = (), *, epoch: int | None = None, version: int = 2, **fields: Any) -> Asked:
        """A fetch, of all its partitions when it opens a session; `acks` of the first of them."""
        epoch = self.epoch if epoch is None else epoch
        asked = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500} | fields
        named = self.partitions if epoch == 0 else self.partitions[:1] if acks else ()
        asked.setdefault("topics", [self._topic(named, acks)] if named else [])
        asked.setdefault("forgotten_topics_data", [])
        if version >= 2:
            asked = {"share_acquire_mode": 0, "is_renew_ack": False} | asked
        self.epoch = epoch + 1
        return self.broker.begin(
            ApiKey.SHARE_FETCH,
            version,
            connection=self.connection,
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=epoch,
            **asked,
        )

    def fetch(self, acks: Sequence[Batch] = (), **fields: Any) -> list[tuple[int, int, int]]:
        """The ranges that one fetch acquires, without waiting."""
        return ranges(self.begin(acks, **fields).answer())

    def acknowledge(self, *acks: Batch, epoch: int | None = None, version: int = 2, renew: bool = False) -> tuple[int, str | None]:
        """(code, text): of the whole request if that has one, else of the partition."""
        answer = self.begin_acknowledge(*acks, epoch=epoch, version=version, renew=renew).answer()
        if answer.error_code or not answer.responses:
            return answer.error_code, None
        (partition,) = answer.responses[0].partitions
        return partition.error_code, partition.error_message

    def begin_acknowledge(self, *acks: Batch, epoch: int | None = None, version: int = 2, renew: bool = False) -> Asked:
        epoch = self.epoch if epoch is None else epoch
        self.epoch = epoch + 1
        more = {"is_renew_ack": renew} if version >= 2 else {}
        return self.broker.begin(
            ApiKey.SHARE_ACKNOWLEDGE,
            version,
            connection=self.connection,
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=epoch,
            topics=[self._topic(self.partitions[:1], acks)] if acks else [],
            **more,
        )

    def close(self, *acks: Batch) -> tuple[int, str | None]:
        """End the session."""
        told = self.acknowledge(*acks, epoch=-1)
        self.epoch = 0
        return told

    def _topic(self, partitions: Sequence[int], acks: Sequence[Batch]) -> dict[str, Any]:
        batches = [{"first_offset": first, "last_offset": last, "acknowledge_types": list(types)} for first, last, types in acks]
        named = [{"partition_index": index, "acknowledgement_batches": batches if not at else []} for at, index in enumerate(partitions)]
        return {"topic_id": self.topic_id, "partitions": named}


def ranges(answer: Any) -> list[tuple[int, int, int]]:
    """What a fetch has acquired, of all partitions one after the other."""
    assert not answer.error_code, answer
    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    assert not any(partition.error_code for partition in partitions), answer
    return [(each.first_offset, each.last_offset, each.delivery_count) for partition in partitions for each in partition.acquired_records]
