"""What stands in the topics of a broker in another process, asked as a client asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncelog.broker.commands.client.wire import WireClient, parse_address
from oncelog.broker.testkit.observing import Chunk, Record, outcomes_in, records_in
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel
from oncelog.protocol.records import iter_headers

_LAST_BY_NAME = 12  # of Fetch and Metadata
_LATEST, _EARLIEST = -1, -2
_READ_BYTES = 1 << 20
_TIMEOUT_MS = 30_000


class OverWire:
    """Each call has a connection of its own. Raises ConnectFailure when nobody answers."""

    def __init__(self, bootstrap: str) -> None:
        self._address = parse_address(bootstrap)

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Raises KafkaError."""
        kind = messages.CreateTopicsRequest.CreatableTopic
        told = [kind.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
        topic = kind(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=told)
        with WireClient(*self._address) as client:
            answer = client.send(ApiKey.CREATE_TOPICS, messages.CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS))
        (one,) = answer.topics
        _check(one.error_code, one.error_message)

    def records(self, topic: str, level: IsolationLevel) -> list[Record]:
        """By partition and offset. Raises LookupError for a topic that is not there, KafkaError."""
        with WireClient(*self._address) as client:
            return [record for number in _partitions(client, topic) for record in records_in(_chunks(client, topic, number, level), number)]

    def outcomes(self, topic: str) -> list[tuple[Record, str]]:
        """As `Broker.outcomes`."""
        level = IsolationLevel.READ_UNCOMMITTED
        with WireClient(*self._address) as client:
            return [told for number in _partitions(client, topic) for told in outcomes_in(_chunks(client, topic, number, level), number)]


def _partitions(client: WireClient, topic: str) -> list[int]:
    kind = messages.MetadataRequest.MetadataRequestTopic
    request = messages.MetadataRequest(topics=[kind(topic_id=None, name=topic)], allow_auto_topic_creation=False)
    (told,) = client.send(ApiKey.METADATA, request, max_version=_LAST_BY_NAME).topics
    if told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise LookupError(f"no topic {topic}")
    _check(told.error_code, None)
    return sorted(each.partition_index for each in told.partitions)


def _offset(client: WireClient, topic: str, partition: int, timestamp: int, level: IsolationLevel) -> int:
    kind = messages.ListOffsetsRequest.ListOffsetsTopic
    asked = kind.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=timestamp)
    request = messages.ListOffsetsRequest(replica_id=-1, isolation_level=level, topics=[kind(name=topic, partitions=[asked])])
    ((told,),) = [each.partitions for each in client.send(ApiKey.LIST_OFFSETS, request).topics]
    _check(told.error_code, None)
    found: int = told.offset
    return found


def _chunks(client: WireClient, topic: str, partition: int, level: IsolationLevel) -> Iterator[Chunk]:
    """Up to the end as it is now."""
    offset = _offset(client, topic, partition, _EARLIEST, level)
    end = _offset(client, topic, partition, _LATEST, level)
    while offset < end:
        told = _fetched(client, topic, partition, offset, level)
        chunk = memoryview(bytes(told.records or b""))
        if not chunk:
            return
        *_, (_, last) = iter_headers(chunk)
        offset = last.next_offset
        yield chunk, told.aborted_transactions or ()


def _fetched(client: WireClient, topic: str, partition: int, offset: int, level: IsolationLevel) -> Any:
    kind = messages.FetchRequest.FetchTopic
    asked = kind.FetchPartition(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=_READ_BYTES,
    )
    request = messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=_READ_BYTES,
        isolation_level=level,
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic=topic, partitions=[asked])],
        forgotten_topics_data=[],
        rack_id="",
    )
    answer = client.send(ApiKey.FETCH, request, max_version=_LAST_BY_NAME)
    _check(answer.error_code, None)
    ((told,),) = [each.partitions for each in answer.responses]
    _check(told.error_code, None)
    return told


def _check(code: int, message: str | None) -> None:
    if code:
        raise KafkaError(ErrorCode(code), message or ErrorCode(code).name)
