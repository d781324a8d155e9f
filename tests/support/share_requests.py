"""Requests to the share coordinator of one partition each, and what is said of it."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.internal.share_state import StateBatch
from oncelog.protocol.primitives import uuid_to_kafka

from support.process import wait_until
from support.whole_broker import WholeBroker

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
BUSY = (14, 15, 16)
SHARE = 2


class Told(NamedTuple):
    """The answer on one partition; what the request does not have is None."""

    error_code: int
    error_message: str | None
    start_offset: int | None = None
    state_epoch: int | None = None
    batches: list[StateBatch] | None = None
    leader_epoch: int | None = None
    complete: int | None = None


class SharePartition:
    """A group's view of a partition, asked about over `ask(key, version, fields)`, which answers a decoded message."""

    def __init__(self, ask: Any, group: str, topic_id: uuid.UUID, partition: int = 0) -> None:
        self._ask = ask
        self.group, self.topic_id, self.partition = group, topic_id, partition

    def initialize(self, state_epoch: int = 0, start_offset: int = 0) -> Told:
        return self._told(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, "InitializeStateData", state_epoch=state_epoch, start_offset=start_offset)

    def read(self, leader_epoch: int = 0) -> Told:
        return self._told(ApiKey.READ_SHARE_GROUP_STATE, 0, "ReadStateData", leader_epoch=leader_epoch)

    def write(
        self, *batches: StateBatch, start: int = 0, state_epoch: int = 0, leader_epoch: int = 0, complete: int = -1, version: int = 1
    ) -> Told:
        kind = messages.WriteShareGroupStateRequest.WriteStateData.PartitionData.StateBatch
        return self._told(
            ApiKey.WRITE_SHARE_GROUP_STATE,
            version,
            "WriteStateData",
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=complete,
            state_batches=[kind(*batch) for batch in batches],
        )

    def delete(self) -> Told:
        return self._told(ApiKey.DELETE_SHARE_GROUP_STATE, 0, "DeleteStateData")

    def summary(self) -> Told:
        return self._told(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, "ReadStateSummaryData", leader_epoch=-1)

    def _told(self, key: ApiKey, version: int, data: str, **fields: Any) -> Told:
        request = getattr(messages, f"{key.schema_name}Request")
        kind = getattr(request, data)
        topics = [kind(topic_id=self.topic_id, partitions=[kind.PartitionData(partition=self.partition, **fields)])]
        (result,) = self._ask(key, version, request(group_id=self.group, topics=topics)).results
        assert result.topic_id == self.topic_id
        (one,) = result.partitions
        assert one.partition == self.partition
        batches = getattr(one, "state_batches", None)
        return Told(
            one.error_code,
            one.error_message,
            getattr(one, "start_offset", None),
            getattr(one, "state_epoch", None),
            None if batches is None else [StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in batches],
            getattr(one, "leader_epoch", None),
            getattr(one, "delivery_complete_count", None),
        )


def have_coordinator(ask: Any, group: str = "g", topic_id: uuid.UUID | None = None, partition: int = 0) -> None:
    """Wait until the share coordinator of a partition is there; its topic is made when somebody asks."""
    key = f"{group}:{uuid_to_kafka(topic_id or uuid.UUID(int=1))}:{partition}"

    def found() -> bool:
        answer = ask(ApiKey.FIND_COORDINATOR, 6, {"key_type": SHARE, "coordinator_keys": [key]})
        return bool(answer.coordinators[0].error_code == 0)

    wait_until(found, 30.0, "the share coordinator")


def when_loaded(partition: SharePartition) -> SharePartition:
    """Once its coordinator has read what it knows."""
    wait_until(lambda: partition.summary().error_code not in BUSY, 30.0, "the share partition")
    return partition


def in_process(whole: WholeBroker, group: str = "g", topic: str = "t", partition: int = 0) -> SharePartition:
    """The same with a broker in memory."""

    def ask(key: ApiKey, version: int, request: Any) -> Any:
        return whole.begin_body(key, version, messages.encode_request(key, version, request)).answer()

    return SharePartition(ask, group, whole.topic_id(topic), partition)


def batch(first: int, last: int, state: int = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)
