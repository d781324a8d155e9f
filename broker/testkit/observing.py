"""What a test may see of a broker's inside, as plain values."""

from __future__ import annotations

from typing import Any, NamedTuple

from oncelog.broker.lifecycle import Broker
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.protocol.records import RecordHeader, iter_headers, iter_records
from oncelog.storage.log.log import Log
from oncelog.storage.log.stored_records import StoredRecords

_READ_BYTES = 1 << 20
_LEVELS = {"read_committed": IsolationLevel.READ_COMMITTED, "read_uncommitted": IsolationLevel.READ_UNCOMMITTED}


class Record(NamedTuple):
    """One record as a consumer sees it, and who wrote it (-1: a producer without idempotence)."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[RecordHeader]
    producer_id: int
    producer_epoch: int


def records_of(broker: Broker, topic: str, isolation: str) -> list[Record]:
    """Raises LookupError for a topic that is not there, ValueError for another isolation level, KafkaError when the log is offline."""
    level = _LEVELS.get(isolation)
    if level is None:
        raise ValueError(f'isolation="{isolation}": {" or ".join(_LEVELS)}')
    found = broker.logs.topics.get(topic)
    if found is None:
        raise LookupError(f"no topic {topic}; there are {', '.join(sorted(each.name for each in broker.logs.topics.all())) or 'none'}")
    got = []
    for partition in range(found.partitions):
        log = broker.logs.log(TopicPartition(topic, partition))
        assert log is not None
        got += _records(log, partition, level)
    return got


def _records(log: Log, partition: int, level: IsolationLevel) -> list[Record]:
    got = []
    offset, end = log.log_start_offset, log.readable_end(level)
    while offset < end:
        data = log.read(offset, _READ_BYTES, isolation=level, min_one_message=True)
        stored = data.records
        chunk = memoryview(stored.read(0, len(stored)) if isinstance(stored, StoredRecords) else stored)
        if not chunk:
            break
        aborted = sorted(data.aborted or (), key=lambda each: each.first_offset)
        aborting: set[int] = set()  # producers whose transaction here is going to be aborted
        for position, header in iter_headers(chunk):
            offset = header.next_offset
            while aborted and aborted[0].first_offset <= header.base_offset:
                aborting.add(aborted.pop(0).producer_id)
            if header.is_control:
                aborting.discard(header.producer_id)
            if header.is_control or (header.is_transactional and header.producer_id in aborting):
                continue
            for record in iter_records(chunk[position : position + header.size_bytes]):
                got.append(
                    Record(
                        partition,
                        record.offset,
                        record.timestamp,
                        record.key,
                        record.value,
                        record.headers,
                        header.producer_id,
                        header.producer_epoch,
                    )
                )
    return got


def state_of(broker: Broker) -> dict[str, Any]:
    """Topics, groups, transactional ids; the internal topics are left out."""
    return {
        "topics": {each.name: _topic(broker, each.name) for each in broker.logs.topics.all() if not each.name.startswith("__")},
        "groups": {each.group_id: _group(broker, each.group_id, each.kind, each.state) for each in broker.context.groups.listing.list()},
        "transactions": {
            each.transactional_id: _transaction(broker, each.transactional_id) for each in broker.context.transactions.list().transactions
        },
    }


def _topic(broker: Broker, name: str) -> dict[str, Any]:
    topic = broker.logs.topics.get(name)
    assert topic is not None
    partitions = [broker.logs.log(TopicPartition(name, partition)) for partition in range(topic.partitions)]
    return {
        "id": uuid_to_kafka(topic.topic_id),
        "configs": dict(topic.configs),
        "partitions": [
            {
                "log_start_offset": log.log_start_offset,
                "last_stable_offset": log.last_stable_offset,
                "high_watermark": log.high_watermark,
                "log_end_offset": log.log_end_offset,
                "offline": log.offline,
                "producers": [
                    {
                        "producer_id": producer.producer_id,
                        "producer_epoch": producer.epoch,
                        "last_sequence": producer.last_sequence,
                        "current_txn_start_offset": producer.current_txn_first_offset,
                    }
                    for producer in log.producers()
                ],
            }
            for log in partitions
            if log is not None
        ],
    }


def _group(broker: Broker, group_id: str, kind: str, named: str) -> dict[str, Any]:
    shard = broker.context.groups.runtime.shard_of(group_id)
    if kind == "consumer":
        members = sorted(shard.consumer_groups[group_id].members)
    else:
        group = shard.groups.get(group_id)
        members = sorted(group.members) if group is not None else []
    return {
        "type": kind,
        "state": named,
        "members": members,
        "offsets": {str(place): committed.offset for place, committed in sorted(shard.offsets.of(group_id).items())},
    }


def _transaction(broker: Broker, transactional_id: str) -> dict[str, Any]:
    told = broker.context.transactions.describe(transactional_id)
    return {
        "state": told.state,
        "producer_id": told.producer_id,
        "producer_epoch": told.producer_epoch,
        "timeout_ms": told.timeout_ms,
        "start_ms": told.start_timestamp_ms,
        "partitions": [str(partition) for partition in sorted(told.partitions)],
    }
