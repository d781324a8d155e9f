"""A broker's topics, groups and transactional ids as JSON, in pieces: ten thousand of anything are not told in one turn of the loop.

    {"topics": {name: {"id", "configs", "partitions": [{"log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset",
        "offline", "producers": [{"producer_id", "producer_epoch", "last_sequence", "current_txn_start_offset"}]}]}},
     "groups": {id: {"type", "state", "members": [id], "offsets": {"topic-partition": offset}}},
     "transactions": {id: {"state", "producer_id", "producer_epoch", "timeout_ms", "start_ms", "partitions": ["topic-partition"]}}}

What is told may change in between; what goes away in between is left out. The internal topics are left out always.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from oncelog.broker.lifecycle import Broker
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage.log.log import Log


def state_pieces(broker: Broker) -> Iterator[str]:
    """JSON, cut anywhere; each piece a fraction of a millisecond's work."""
    yield '{"topics": '
    names = [topic.name for topic in broker.logs.topics.all() if not topic.name.startswith("__")]
    yield from _object((name, _topic(broker, name)) for name in names)
    yield ', "groups": '
    groups = broker.context.groups.listing.list()
    yield from _object((each.group_id, _group(broker, each.group_id, each.kind, each.state)) for each in groups)
    yield ', "transactions": '
    ids = [each.transactional_id for each in broker.context.transactions.list().transactions]
    yield from _object((id, _transaction(broker, id)) for id in ids)
    yield "}"


def _object(members: Iterable[tuple[str, Iterator[str]]]) -> Iterator[str]:
    """A member without a value is left out."""
    before = "{"
    for name, value in members:
        first = next(value, None)
        if first is not None:
            yield f"{before}{json.dumps(name)}: {first}"
            yield from value
            before = ", "
    yield "{}" if before == "{" else "}"


def _array(values: Iterable[str]) -> Iterator[str]:
    before = "["
    for value in values:
        yield before + value
        before = ", "
    yield "[]" if before == "[" else "]"


def _topic(broker: Broker, name: str) -> Iterator[str]:
    topic = broker.logs.topics.get(name)
    if topic is None:
        return
    yield f'{{"id": {json.dumps(uuid_to_kafka(topic.topic_id))}, "configs": {json.dumps(dict(topic.configs))}, "partitions": ['
    before = ""
    for partition in range(topic.partitions):
        log = broker.logs.log(TopicPartition(name, partition))
        if log is not None:
            yield before
            yield from _log(log)
            before = ", "
    yield "]}"


def _log(log: Log) -> Iterator[str]:
    offsets = {
        "log_start_offset": log.log_start_offset,
        "last_stable_offset": log.last_stable_offset,
        "high_watermark": log.high_watermark,
        "log_end_offset": log.log_end_offset,
        "offline": log.offline,
    }
    yield json.dumps(offsets)[:-1] + ', "producers": '
    yield from _array(
        json.dumps(
            {
                "producer_id": producer.producer_id,
                "producer_epoch": producer.epoch,
                "last_sequence": producer.last_sequence,
                "current_txn_start_offset": producer.current_txn_first_offset,
            }
        )
        for producer in log.producers()
    )
    yield "}"


def _group(broker: Broker, group_id: str, kind: str, named: str) -> Iterator[str]:
    shard = broker.context.groups.runtime.shard_of(group_id)
    group = shard.heartbeat_group(group_id) or shard.groups.get(group_id)
    offsets = shard.offsets.of(group_id)
    if group is None and not offsets:
        return
    yield f'{{"type": {json.dumps(kind)}, "state": {json.dumps(named)}, "members": '
    yield from _array(map(json.dumps, sorted(group.members) if group is not None else []))
    yield ', "offsets": {'
    before = ""
    for place in sorted(offsets):
        if place in offsets:
            yield f"{before}{json.dumps(str(place))}: {offsets[place].offset}"
            before = ", "
    yield "}}"


def _transaction(broker: Broker, transactional_id: str) -> Iterator[str]:
    told = broker.context.transactions.describe(transactional_id)
    if told.error is not ErrorCode.NONE:
        return
    yield json.dumps(
        {
            "state": told.state,
            "producer_id": told.producer_id,
            "producer_epoch": told.producer_epoch,
            "timeout_ms": told.timeout_ms,
            "start_ms": told.start_timestamp_ms,
            "partitions": [str(partition) for partition in sorted(told.partitions)],
        }
    )
