"""Share groups over the wire: topics and groups of a test's own, and members with a connection each. For Apache Kafka too."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch

from support.process import wait_until
from support.share_requests import SharePartition, have_coordinator
from support.wire import Connection

GROUP = 32
Batch = tuple[int, int, Sequence[int]]


class ShareClient:
    """A member with a connection of its own; its group and topic are its own too."""

    def __init__(self, bootstrap: str, group: str, topic_id: uuid.UUID, member: str = "") -> None:
        self.connection = Connection(bootstrap, timeout=40)
        self.group, self.topic_id = group, topic_id
        self.member = member or str(uuid.uuid4())
        self.epoch = 0

    def fetch(self, *acks: Batch, partitions: Sequence[int] = (0,), version: int = 2, forget: Sequence[int] = (), **fields: Any) -> Any:
        """The answer; of its partitions when it opens a session, later of those with acknowledgements."""
        named = partitions if self.epoch == 0 else partitions[:1] if acks else ()
        asked = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500} | fields
        asked |= {"topics": [self._topic(named, acks)] if named else []}
        asked |= {"forgotten_topics_data": [{"topic_id": self.topic_id, "partitions": list(forget)}] if forget else []}
        if version > 1:
            asked = {"share_acquire_mode": 0, "is_renew_ack": False} | asked
        known = {"group_id": self.group, "member_id": self.member, "share_session_epoch": self.epoch}
        self.epoch += 1
        return self.connection.request(ApiKey.SHARE_FETCH, version, known | asked)

    def acquired(self, *acks: Batch, **fields: Any) -> list[tuple[int, int, int]]:
        return ranges(self.fetch(*acks, **fields))

    def acknowledge(self, *acks: Batch, version: int = 2, renew: bool = False) -> int:
        """The partition's code."""
        asked: dict[str, Any] = {"group_id": self.group, "member_id": self.member, "share_session_epoch": self.epoch}
        asked |= {"topics": [self._topic((0,), acks)]} | ({"is_renew_ack": renew} if version > 1 else {})
        self.epoch += 1
        answer = self.connection.request(ApiKey.SHARE_ACKNOWLEDGE, version, asked)
        assert not answer.error_code, answer
        return int(answer.responses[0].partitions[0].error_code)

    def _topic(self, partitions: Sequence[int], acks: Sequence[Batch]) -> dict[str, Any]:
        batches = [{"first_offset": first, "last_offset": last, "acknowledge_types": list(types)} for first, last, types in acks]
        named = [{"partition_index": index, "acknowledgement_batches": batches if not at else []} for at, index in enumerate(partitions)]
        return {"topic_id": self.topic_id, "partitions": named}


def ranges(answer: Any) -> list[tuple[int, int, int]]:
    assert not answer.error_code, answer
    found = [partition for topic in answer.responses for partition in topic.partitions]
    assert not any(partition.error_code for partition in found), answer
    return [(each.first_offset, each.last_offset, each.delivery_count) for partition in found for each in partition.acquired_records]


class World:
    """Topics, groups and records over the wire."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = Connection(bootstrap, timeout=40)
        self.name = f"share-{uuid.uuid4().hex[:8]}"
        self.clients: list[ShareClient] = []
        have_coordinator(self.admin.request)

    def close(self) -> None:
        self.admin.close()
        for client in self.clients:
            client.connection.close()
        self.clients.clear()

    def moved(self, bootstrap: str) -> None:
        """The broker was restarted: everybody connects anew."""
        self.close()
        self.bootstrap, self.admin = bootstrap, Connection(bootstrap, timeout=40)

    def topic(self, partitions: int = 1) -> uuid.UUID:
        topics = [{"name": self.name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}]
        assert not self.admin.request(ApiKey.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 10_000}).topics[0].error_code
        kind = messages.MetadataRequest.MetadataRequestTopic
        found: list[uuid.UUID] = []

        def known() -> bool:
            asked = messages.MetadataRequest(topics=[kind(topic_id=uuid.UUID(int=0), name=self.name)], allow_auto_topic_creation=False)
            (topic,) = self.admin.request(ApiKey.METADATA, 12, asked).topics
            found.append(topic.topic_id)
            return bool(not topic.error_code and len(topic.partitions) == partitions and not any(p.error_code for p in topic.partitions))

        wait_until(known, 20.0, "the topic")
        return found[-1]

    def group(self, name: str, topic_id: uuid.UUID, configs: Mapping[str, str] | None = None, partitions: int = 1) -> str:
        """A group that begins at the earliest record and whose share partitions are initialized."""
        group = f"{self.name}-{name}"
        given = {"share.auto.offset.reset": "earliest"} | dict(configs or {})
        settings = [{"name": each, "config_operation": 0, "value": value} for each, value in given.items()]
        resources = [{"resource_type": GROUP, "resource_name": group, "configs": settings}]
        answer = self.admin.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
        assert not answer.responses[0].error_code, answer
        for index in range(partitions):
            known = SharePartition(self.admin.request, group, topic_id, index)
            wait_until(lambda known=known: not known.initialize(1, -1).error_code, 20.0, "the share partition")  # type: ignore[misc]
        return group

    def member(self, group: str, topic_id: uuid.UUID) -> ShareClient:
        client = ShareClient(self.bootstrap, group, topic_id)
        self.clients.append(client)
        return client

    def produce(self, *sizes: int, partition: int = 0, timestamp_ms: int | None = None, **producer: Any) -> None:
        """One batch of each size."""
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        for size in sizes:
            batch = bytes(build_batch([(stamp, None, b"v")] * size, **producer))
            data = [{"name": self.name, "partition_data": [{"index": partition, "records": batch}]}]
            asked = {"transactional_id": self.name if producer else None, "acks": -1, "timeout_ms": 10_000, "topic_data": data}
            answer = self.admin.request(ApiKey.PRODUCE, 9, asked)
            assert not answer.responses[0].partition_responses[0].error_code, answer

    def transaction(self, producer: tuple[int, int], sequence: int, *, commit: bool) -> None:
        """Two records, and their marker."""
        id, epoch = producer
        topics = [{"name": self.name, "partitions": [0]}]
        known = {"v3_and_below_transactional_id": self.name, "v3_and_below_producer_id": id, "v3_and_below_producer_epoch": epoch}

        def added() -> bool:
            answer = self.admin.request(ApiKey.ADD_PARTITIONS_TO_TXN, 3, known | {"v3_and_below_topics": topics})
            (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            assert result.partition_error_code in (0, 51), answer
            return bool(result.partition_error_code == 0)

        wait_until(added, 20.0, "the transaction")
        self.produce(2, producer_id=id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)
        asked = {"transactional_id": self.name, "producer_id": id, "producer_epoch": epoch, "committed": commit}
        assert not self.admin.request(ApiKey.END_TXN, 3, asked).error_code

    def producer(self) -> tuple[int, int]:
        asked = {"transactional_id": self.name, "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
        found: list[tuple[int, int]] = []

        def begun() -> bool:
            answer = self.admin.request(ApiKey.INIT_PRODUCER_ID, 4, asked)
            found.append((answer.producer_id, answer.producer_epoch))
            return bool(answer.error_code == 0)

        wait_until(begun, 20.0, "a producer id")
        return found[-1]

    def stable_end(self, offset: int) -> None:
        """Wait until the last stable offset is there."""
        partitions = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]
        asked = {"replica_id": -1, "isolation_level": 1, "topics": [{"name": self.name, "partitions": partitions}]}

        def there() -> bool:
            answer = self.admin.request(ApiKey.LIST_OFFSETS, 5, asked)
            return bool(answer.topics[0].partitions[0].offset == offset)

        wait_until(there, 20.0, "the marker")
