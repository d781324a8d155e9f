"""One request and its answer as an entry of the journal.

Every entry has `begun` and `ended` (places in the order of all arrivals and answers), `time_ms` (of day, at the arrival), `connection`,
`client_id`, `api`, `version`; then what the request is about, and what was answered:

    Produce                       transactional_id, batches: partition, producer [id, epoch], sequence [first, last], offset, error
    InitProducerId, EndTxn        transactional_id, producer, committed (EndTxn), answered [id, epoch], error
    AddPartitionsToTxn (to v3)    transactional_id, producer, partitions {partition: error}
    AddOffsetsToTxn               transactional_id, producer, group, error
    TxnOffsetCommit, OffsetCommit transactional_id, producer (the first), group, offsets {partition: offset}, partitions {partition: error}
    OffsetFetch                   groups {group: {partition: offset}}

A `start` stands where a broker began to write. Errors are names, NONE where there was none; offsets of no commit are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import iter_headers

Entry = dict[str, Any]
TopicName = Callable[[Any], str | None]


def asked(key: ApiKey, body: Any, topic_name: TopicName) -> Entry:
    """What of a request is written. `topic_name(id)`: of topics that are named by id. Nothing of `body` is kept."""
    return _ASKED[key](body, topic_name)


def answered(key: ApiKey, body: Any, topic_name: TopicName, entry: Entry) -> None:
    """Add to `entry` what of the answer is written."""
    _ANSWERED[key](body, topic_name, entry)


def _of_producer(body: Any, _topic_name: TopicName) -> Entry:
    return {"transactional_id": body.transactional_id, "producer": [body.producer_id, body.producer_epoch]}


def _end(body: Any, topic_name: TopicName) -> Entry:
    return {**_of_producer(body, topic_name), "committed": body.committed}


def _add_offsets(body: Any, topic_name: TopicName) -> Entry:
    return {**_of_producer(body, topic_name), "group": body.group_id}


def _add_partitions(body: Any, _topic_name: TopicName) -> Entry:
    pair = [body.v3_and_below_producer_id, body.v3_and_below_producer_epoch]
    return {"transactional_id": body.v3_and_below_transactional_id, "producer": pair}


def _produce(body: Any, topic_name: TopicName) -> Entry:
    batches = [
        {
            "partition": place,
            "producer": [header.producer_id, header.producer_epoch],
            "sequence": [header.base_sequence, header.last_sequence],
        }
        for place, part in _parts(body.topic_data, "partition_data", topic_name)
        for _position, header in (iter_headers(part.records) if part.records else ())
    ]
    return {"transactional_id": body.transactional_id, "acks": body.acks, "batches": batches}


def _commit(body: Any, topic_name: TopicName) -> Entry:
    offsets = {place: part.committed_offset for place, part in _parts(body.topics, "partitions", topic_name)}
    return {"group": body.group_id, "offsets": offsets}


def _txn_commit(body: Any, topic_name: TopicName) -> Entry:
    return {**_of_producer(body, topic_name), **_commit(body, topic_name)}


def _nothing(_body: Any, _topic_name: TopicName) -> Entry:
    return {}


def _error(body: Any, _topic_name: TopicName, entry: Entry) -> None:
    entry["error"] = _name(body.error_code)


def _pair(body: Any, topic_name: TopicName, entry: Entry) -> None:
    _error(body, topic_name, entry)
    entry["answered"] = [body.producer_id, body.producer_epoch]


def _produced(body: Any, topic_name: TopicName, entry: Entry) -> None:
    told = dict(_parts(body.responses, "partition_responses", topic_name))
    for batch in entry["batches"]:
        part = told.get(batch["partition"])
        if part is not None:
            batch["offset"], batch["error"] = part.base_offset, _name(part.error_code)


def _added(body: Any, _topic_name: TopicName, entry: Entry) -> None:
    entry["partitions"] = {
        f"{topic.name}-{part.partition_index}": _name(part.partition_error_code)
        for topic in body.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    }


def _committed(body: Any, topic_name: TopicName, entry: Entry) -> None:
    entry["partitions"] = {place: _name(part.error_code) for place, part in _parts(body.topics, "partitions", topic_name)}


def _fetched(body: Any, topic_name: TopicName, entry: Entry) -> None:
    groups = body.groups
    entry["groups"] = {
        group.group_id: {
            place: part.committed_offset for place, part in _parts(group.topics, "partitions", topic_name) if part.committed_offset >= 0
        }
        for group in groups
    }


def _parts(topics: Iterable[Any], field: str, topic_name: TopicName) -> Iterator[tuple[str, Any]]:
    for topic in topics:
        name = topic.name or topic_name(getattr(topic, "topic_id", None)) or str(getattr(topic, "topic_id", None))
        for part in getattr(topic, field):
            number = getattr(part, "partition_index", None)
            yield f"{name}-{part.index if number is None else number}", part


def _name(code: int) -> str:
    return ErrorCode(code).name


_ASKED: dict[ApiKey, Callable[[Any, TopicName], Entry]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.INIT_PRODUCER_ID: _of_producer,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets,
    ApiKey.TXN_OFFSET_COMMIT: _txn_commit,
    ApiKey.END_TXN: _end,
    ApiKey.OFFSET_COMMIT: _commit,
    ApiKey.OFFSET_FETCH: _nothing,
}
_ANSWERED: dict[ApiKey, Callable[[Any, TopicName, Entry], None]] = {
    ApiKey.PRODUCE: _produced,
    ApiKey.INIT_PRODUCER_ID: _pair,
    ApiKey.ADD_PARTITIONS_TO_TXN: _added,
    ApiKey.ADD_OFFSETS_TO_TXN: _error,
    ApiKey.TXN_OFFSET_COMMIT: _committed,
    ApiKey.END_TXN: _pair,
    ApiKey.OFFSET_COMMIT: _committed,
    ApiKey.OFFSET_FETCH: _fetched,
}
FIRST_VERSION = {ApiKey.OFFSET_FETCH: 8}  # before, one group a request: clients of old
LAST_VERSION = {ApiKey.ADD_PARTITIONS_TO_TXN: 3}  # behind, by other brokers only


def is_written(key: int, version: int) -> bool:
    """Is an entry made of such requests?"""
    return key in _ASKED and FIRST_VERSION.get(ApiKey(key), 0) <= version <= LAST_VERSION.get(ApiKey(key), version)
