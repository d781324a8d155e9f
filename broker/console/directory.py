"""A data directory, of oncelog or of Apache Kafka, as its files are: opened for reading only, with no broker, and nothing is repaired.

What its coordinators would know is replayed from their topics. The time that ages are told by is that of the newest decision there is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from oncelog.broker.console.folder import Walked, walk
from oncelog.broker.console.lint_logs import look
from oncelog.broker.console.lint_rules import Findings
from oncelog.broker.console.model import (
    Facts,
    Group,
    OpenTransaction,
    Partition,
    Pieces,
    Producer,
    Refused,
    Transaction,
)
from oncelog.broker.console.shards import groups_of, transaction_of
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from oncelog.protocol.primitives import partition_for, uuid_from_kafka
from oncelog.protocol.records import BatchHeader, CorruptBatch, iter_headers, iter_records
from oncelog.storage.audit.raw_directory import LOG_STARTS, open_data_directory

READ_BYTES = 1 << 20
_NAMED = 3  # damaged files, in the sentence about them


class DirectorySource:
    """Made by `open_directory`."""

    kind: Final = "directory"
    bootstrap: Final = "HOST:PORT"

    def __init__(self, path: Path, walked: Mapping[TopicPartition, Walked], meta: Mapping[str, str], topic_ids: Mapping[Any, str]) -> None:
        self._path = path
        self._walked = walked
        self._meta = meta
        self._problems = [each.damage for each in walked.values() if each.damage is not None]
        self._txn_partitions = 1 + max((place.partition for place in walked if place.topic == TRANSACTION_STATE), default=-1)
        self._findings: Findings | None = None
        self._transactions: list[Transaction] = []
        self._groups: list[Group] = []
        for place in sorted(walked):
            if place.topic == TRANSACTION_STATE:
                shard = TxnShard(place.partition)
                self._replay(walked[place], shard)
                self._transactions += [transaction_of(txn) for txn in shard.transactions.values()]
            elif place.topic == CONSUMER_OFFSETS:
                groups = GroupShard(place.partition)
                self._replay(walked[place], groups)
                self._groups += groups_of(groups, topic_ids.get)
        newest = max((each.last_update_ms or 0 for each in self._transactions), default=0)
        self._now_ms = newest or time.time_ns() // 1_000_000

    def now_ms(self) -> int:
        return self._now_ms

    def _replay(self, walked: Walked, shard: TxnShard | GroupShard) -> None:
        offset = walked.partition.log_start_offset
        while data := memoryview(walked.read(offset, READ_BYTES)):
            for position, header in iter_headers(data):
                offset = header.next_offset
                try:
                    _replay(shard, header, data[position : position + header.size_bytes])
                except (CorruptBatch, CorruptRecord, ValueError) as wrong:
                    self._problems.append(f"{walked.folder.name} at offset {header.base_offset}: {wrong}")

    async def facts(self) -> Facts:
        can = dict.fromkeys(("abort", "owners", "requests", "fencings", "rebalances"), False)
        topics = {place.topic for place in self._walked}
        problem = None
        if self._problems:
            more = f", and {len(self._problems) - _NAMED} more" if len(self._problems) > _NAMED else ""
            problem = f"damaged: {'; '.join(self._problems[:_NAMED])}{more}. `oncelog verify` tells all."
        can |= {"segments": True, "values": True}
        return Facts(str(self._path), self._meta.get("cluster.id"), None, can, len(topics), len(self._walked), problem)

    # -- transactions

    async def transactions(self, *, only_open: bool = False) -> Sequence[Transaction]:
        return [each for each in self._transactions if each.is_open or not only_open]

    async def transaction_log(self, transactional_id: str) -> TopicPartition | None:
        """The number of partitions is not told; the id's records are where its hash leads, if all folders are there."""
        if not self._txn_partitions:
            return None
        return TopicPartition(TRANSACTION_STATE, partition_for(transactional_id, self._txn_partitions))

    async def abort(self, transaction: Transaction) -> str:
        raise Refused(501, "a directory is only read")

    async def abort_hanging(self, place: TopicPartition, open_transaction: OpenTransaction) -> str:
        raise Refused(501, "a directory is only read")

    # -- partitions

    async def behind(self) -> Sequence[tuple[Partition, Sequence[OpenTransaction]]]:
        return [(each.partition, each.opened) for _, each in sorted(self._walked.items()) if each.partition.behind]

    async def partitions(self) -> Sequence[Partition]:
        return [each.partition for each in self._walked.values()]

    async def edges(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, Partition]:
        return {place: self._walked[place].partition for place in places if place in self._walked}

    async def open_on(self, place: TopicPartition) -> Sequence[OpenTransaction]:
        return self._walked[place].opened if place in self._walked else ()

    async def producers(self, place: TopicPartition) -> Sequence[Producer]:
        return self._walked[place].producers if place in self._walked else ()

    async def pieces(self, place: TopicPartition) -> Pieces | None:
        return self._walked[place].pieces if place in self._walked else None

    async def read(self, place: TopicPartition, offset: int, max_bytes: int) -> bytes:
        if place not in self._walked:
            return b""
        try:
            return await asyncio.to_thread(self._walked[place].read, offset, max_bytes)
        except OSError as error:
            raise Refused(409, f"{place} cannot be read: {error.strerror or error}") from None

    async def offset_at(self, place: TopicPartition, time_ms: int) -> int | None:
        return self._walked[place].offset_at(time_ms) if place in self._walked else None

    # -- groups, and what only a broker could tell

    async def groups(self) -> Sequence[Group]:
        return self._groups

    async def requests_of(self, transactional_id: str) -> Sequence[Mapping[str, Any]]:
        return ()

    async def fencings(self) -> Sequence[Mapping[str, Any]]:
        return ()

    async def lint(self) -> Sequence[Mapping[str, Any]]:
        """Looked for once: nothing changes."""
        if self._findings is None:
            self._findings = Findings()
            await look(self, self._findings)
        return self._findings.rows()

    async def close(self) -> None:
        """Its files are closed with their mappings."""


def _replay(shard: TxnShard | GroupShard, header: BatchHeader, batch: memoryview) -> None:
    """One batch, as at the start of a broker."""
    if header.is_control:
        marker = parse_end_transaction_marker(batch) if header.records_count else None
        if marker is not None:
            shard.replay_marker(header.producer_id, header.producer_epoch, marker.commit, header.base_offset)
        return
    for record in iter_records(batch):
        if record.key is not None:
            shard.replay(
                record.key,
                record.value,
                offset=record.offset,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                timestamp_ms=record.timestamp,
            )


def open_directory(path: Path) -> DirectorySource:
    """Walk every log of it. Raises NotADirectoryError, OSError."""
    directory = open_data_directory(path)
    starts = directory.checkpoint(LOG_STARTS)
    walked, topic_ids = {}, {}
    for folder in directory.partitions.values():
        place = TopicPartition(folder.topic, folder.partition)
        walked[place] = walk(folder, starts.get((folder.topic, folder.partition)))
        try:
            named = _properties((folder.path / "partition.metadata").read_text("utf-8", "replace"), ":")
            topic_ids[uuid_from_kafka(named["topic_id"])] = folder.topic
        except (OSError, KeyError, ValueError):
            continue  # of before topic ids, or damaged: only groups of the newer protocol are shown without their partitions then
    meta = _properties((directory.read("meta.properties") or b"").decode("utf-8", "replace"), "=")
    return DirectorySource(path, walked, meta, topic_ids)


def _properties(text: str, sign: str) -> dict[str, str]:
    lines = (line.partition(sign) for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): value.strip() for name, found, value in lines if found}
