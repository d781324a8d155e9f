"""Partitions are called as their folders are, and sort by topic, then by number."""

from __future__ import annotations

from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, SHARE_GROUP_STATE, TRANSACTION_STATE, IsolationLevel, TopicPartition
from oncelog.storage.audit.raw_directory import split_partition_name


def test_a_partition_is_called_as_its_folder() -> None:
    for partition in (TopicPartition("a", 0), TopicPartition("a-1", 20), TopicPartition("a.b_c", 2**31 - 1)):
        assert f"{partition}" == str(partition) == f"{partition.topic}-{partition.partition}"
        assert split_partition_name(str(partition)) == partition


def test_partitions_sort_by_number_and_not_by_text() -> None:
    assert sorted([TopicPartition("b", 1), TopicPartition("a", 10), TopicPartition("a", 9)]) == [("a", 9), ("a", 10), ("b", 1)]


def test_what_the_broker_keeps_for_itself() -> None:
    assert {CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE} == INTERNAL_TOPICS
    assert [level.value for level in IsolationLevel] == [0, 1]
