"""Transactions in raw requests, in either dialect of clients; the same for oncelog and Apache Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch

from support.process import wait_until
from support.simbroker import build
from support.wire import Connection

TIMEOUT_MS = 900_000  # the longest that brokers allow by default: nothing may be aborted by itself during a test
LATEST = -1
# while a broker loads, or completes what went before
_BUSY = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which requests a client speaks: up to Kafka 3.x it names its partitions first, from 4.0 on each end raises the epoch (KIP-890)."""

    name: str
    produce: int
    txn_offset_commit: int
    end_txn: int

    @property
    def bumps_epoch(self) -> bool:
        return self.end_txn >= 5


TV0 = Dialect("tv0", produce=11, txn_offset_commit=3, end_txn=4)
TV2 = Dialect("tv2", produce=12, txn_offset_commit=5, end_txn=5)


def one_record(pair: Pair, sequence: int, value: bytes, *, is_transactional: bool = True, timestamp_ms: int | None = None) -> bytes:
    """A batch, as a producer sends it; of now."""
    record = (int(time.time() * 1000) if timestamp_ms is None else timestamp_ms, b"k", value)
    batch = build_batch([record], producer_id=pair[0], producer_epoch=pair[1], base_sequence=sequence, is_transactional=is_transactional)
    return bytes(batch)


class Client:
    """Requests on one connection, answered by any broker of one node."""

    def __init__(self, bootstrap: str) -> None:
        self._connection = Connection(bootstrap, timeout=30.0)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self._connection.close()

    def ask(self, api: ApiKey, version: int, /, **fields: Any) -> Any:
        return self._connection.request(api, version, build(getattr(messages, f"{api.schema_name}Request"), fields))

    def until_ready(self, api: ApiKey, version: int, code_of: Callable[[Any], int], /, **fields: Any) -> Any:
        """The first answer whose code is not one to ask again for."""

        def once() -> Any:
            answer = self.ask(api, version, **fields)
            return None if ErrorCode(code_of(answer)) in _BUSY else answer

        return wait_until(once, 30.0, f"an answer to {api.name}")

    def create(self, topic: str, partitions: int) -> None:
        topics = [{"name": topic, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}]
        answer = self.ask(ApiKey.CREATE_TOPICS, 5, topics=topics, timeout_ms=10_000, validate_only=False)
        assert answer.topics[0].error_code == 0, answer

    def init(self, id: str) -> Pair:
        """As a new instance, which brings no pair along."""
        wanted = {"transactional_id": id, "transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}
        answer = self.until_ready(ApiKey.INIT_PRODUCER_ID, 4, lambda got: int(got.error_code), **wanted)
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch

    def add(self, id: str, pair: Pair, *places: TopicPartition) -> ErrorCode:
        topics = [{"name": place.topic, "partitions": [place.partition]} for place in places]
        answer = self.until_ready(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            lambda got: int(got.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code),
            v3_and_below_transactional_id=id,
            v3_and_below_producer_id=pair[0],
            v3_and_below_producer_epoch=pair[1],
            v3_and_below_topics=topics,
        )
        codes = {part.partition_error_code for topic in answer.results_by_topic_v3_and_below for part in topic.results_by_partition}
        (code,) = codes
        return ErrorCode(code)

    def send(self, dialect: Dialect, id: str | None, place: TopicPartition, batch: bytes) -> tuple[ErrorCode, int]:
        """One batch as it is; (error, base offset)."""
        topics = [{"name": place.topic, "partition_data": [{"index": place.partition, "records": batch}]}]
        answer = self.until_ready(
            ApiKey.PRODUCE,
            dialect.produce,
            lambda got: int(got.responses[0].partition_responses[0].error_code),
            transactional_id=id,
            acks=-1,
            timeout_ms=5000,
            topic_data=topics,
        )
        part = answer.responses[0].partition_responses[0]
        return ErrorCode(part.error_code), part.base_offset

    def produce(self, dialect: Dialect, id: str | None, pair: Pair, sequence: int, place: TopicPartition, value: bytes) -> ErrorCode:
        """One record, its partition added first where the dialect wants it."""
        if id is not None and not dialect.bumps_epoch:
            added = self.add(id, pair, place)
            if added is not ErrorCode.NONE:
                return added
        return self.send(dialect, id, place, one_record(pair, sequence, value, is_transactional=id is not None))[0]

    def send_offsets(self, dialect: Dialect, id: str, pair: Pair, group: str, offsets: Iterable[tuple[TopicPartition, int]]) -> ErrorCode:
        if not dialect.bumps_epoch:
            added = self.until_ready(
                ApiKey.ADD_OFFSETS_TO_TXN,
                3,
                lambda got: int(got.error_code),
                transactional_id=id,
                producer_id=pair[0],
                producer_epoch=pair[1],
                group_id=group,
            )
            if added.error_code:
                return ErrorCode(added.error_code)
        topics = [
            {
                "name": place.topic,
                "partitions": [{"partition_index": place.partition, "committed_offset": offset, "committed_metadata": "mine"}],
            }
            for place, offset in offsets
        ]
        answer = self.until_ready(
            ApiKey.TXN_OFFSET_COMMIT,
            dialect.txn_offset_commit,
            lambda got: int(got.topics[0].partitions[0].error_code),
            transactional_id=id,
            group_id=group,
            producer_id=pair[0],
            producer_epoch=pair[1],
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=topics,
        )
        (code,) = {part.error_code for topic in answer.topics for part in topic.partitions}
        return ErrorCode(code)

    def end(self, dialect: Dialect, id: str, pair: Pair, commit: bool) -> tuple[ErrorCode, Pair]:
        """(error, the pair to use next)."""
        answer = self.until_ready(
            ApiKey.END_TXN,
            dialect.end_txn,
            lambda got: int(got.error_code),
            transactional_id=id,
            producer_id=pair[0],
            producer_epoch=pair[1],
            committed=commit,
        )
        after = (answer.producer_id, answer.producer_epoch) if dialect.bumps_epoch else pair
        return ErrorCode(answer.error_code), after

    def group_offset(self, group: str, place: TopicPartition, *, stable: bool) -> tuple[ErrorCode, int]:
        asked = [{"group_id": group, "topics": [{"name": place.topic, "partition_indexes": [place.partition]}]}]
        answer = self.until_ready(ApiKey.OFFSET_FETCH, 8, lambda got: int(got.groups[0].error_code), groups=asked, require_stable=stable)
        part = answer.groups[0].topics[0].partitions[0]
        return ErrorCode(part.error_code), part.committed_offset

    def end_offset(self, place: TopicPartition, *, committed: bool) -> int:
        """The last stable offset, or the high watermark."""
        asked = [{"name": place.topic, "partitions": [{"partition_index": place.partition, "timestamp": LATEST}]}]
        answer = self.until_ready(
            ApiKey.LIST_OFFSETS,
            5,
            lambda got: int(got.topics[0].partitions[0].error_code),
            replica_id=-1,
            isolation_level=int(committed),
            topics=asked,
        )
        part = answer.topics[0].partitions[0]
        assert part.error_code == 0, part
        return int(part.offset)

    def describe(self, id: str) -> Any:
        answer = self.until_ready(
            ApiKey.DESCRIBE_TRANSACTIONS, 0, lambda got: int(got.transaction_states[0].error_code), transactional_ids=[id]
        )
        return answer.transaction_states[0]
