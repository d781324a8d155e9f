"""Markers for partitions whose leader is here: which are written, which are not needed any more, who is told."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.marker_channel import LocalMarkerChannel
from oncelog.coordinator.txn.markers import Delivery, Marker
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from support.memory_logs import MemoryLogs

pytestmark = pytest.mark.unit
PLACE, OFFSETS = TopicPartition("a", 0), TopicPartition(CONSUMER_OFFSETS, 0)
NOW_MS = 5_000


@pytest.fixture
def logs() -> MemoryLogs:
    made = MemoryLogs(holds_syncs=True)
    made.create_topic("a", 1)
    made.create_topic(CONSUMER_OFFSETS, 1)
    return made


def marker(place: TopicPartition = PLACE, epoch: int = 1, version: int = 2) -> Marker:
    return Marker(place, 7, epoch, True, version)


def test_a_marker_ends_behind_itself(logs: MemoryLogs) -> None:
    logs.at("a").write(7, 0)
    end = logs.at("a").log_end_offset
    assert LocalMarkerChannel(logs.log).write(marker(), NOW_MS) == Delivery(ErrorCode.NONE, end + 1)
    assert [each[1:] for each in logs.at("a").markers()] == [(7, 1, True)]


def test_a_marker_that_is_on_disk_already_is_not_waited_for(logs: MemoryLogs) -> None:
    logs.holds_syncs = False
    assert LocalMarkerChannel(logs.log).write(marker(), NOW_MS) == Delivery(ErrorCode.NONE)
    assert len(logs.at("a").markers()) == 1


def test_a_deleted_topic_needs_none(logs: MemoryLogs) -> None:
    logs.delete_topic("a")
    assert LocalMarkerChannel(logs.log).write(marker(), NOW_MS) == Delivery(ErrorCode.NONE)


def test_only_who_keeps_offsets_is_told(logs: MemoryLogs) -> None:
    told: list[tuple[int, int, int, bool, int]] = []
    channel = LocalMarkerChannel(logs.log)
    channel.on_offsets_marker = lambda *arguments: told.append(arguments)
    for place in (PLACE, OFFSETS):
        logs.at(place.topic).write(7, 0)
        channel.write(marker(place), NOW_MS)
    assert told == [(0, 7, 1, True, logs.at(CONSUMER_OFFSETS).log_end_offset - 1)]


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_refusal_is_told_and_may_be_worth_another_try(logs: MemoryLogs, code: ErrorCode) -> None:
    logs.at("a").fail_with = code
    delivery = LocalMarkerChannel(logs.log).write(marker(), NOW_MS)
    assert (delivery.error, delivery.end_offset, delivery.retry) == (code, None, code is ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize(
    ("epoch", "version", "since_ms", "again"),
    [
        (1, 2, NOW_MS + 1, False),  # nothing but the marker brings a new epoch
        (1, 0, NOW_MS, False),
        (1, 0, NOW_MS + 1, True),  # the epoch is that of the transaction before, too
        (2, 2, NOW_MS, True),
        (2, 0, NOW_MS, True),
    ],
)
def test_a_marker_that_is_there_is_not_written_twice(logs: MemoryLogs, epoch: int, version: int, since_ms: int, again: bool) -> None:
    channel = LocalMarkerChannel(logs.log)
    logs.at("a").write(7, 0, NOW_MS)
    channel.write(marker(), NOW_MS)
    delivery = channel.write(marker(epoch=epoch, version=version), NOW_MS + 9, unless_since_ms=since_ms)
    assert (delivery.end_offset is not None) is again
    assert len(logs.at("a").markers()) == 1 + again


def test_an_open_transaction_gets_its_marker_whatever_was_before(logs: MemoryLogs) -> None:
    channel = LocalMarkerChannel(logs.log)
    logs.at("a").write(7, 1, NOW_MS)
    assert channel.write(marker(version=0), NOW_MS, unless_since_ms=0).end_offset is not None
