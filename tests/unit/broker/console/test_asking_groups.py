"""Groups over the wire, and the offsets that their topic holds for open transactions."""

from __future__ import annotations

from contextlib import closing

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.console import asking_groups
from oncelog.broker.console.model import Partition
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.records import build_batch, patch_offset
from support.console_kit import FIRST, stuck_broker
from support.group_requests import streams_member
from support.served_broker import ServedBroker
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
PLACE, OFFSETS = TopicPartition("t", 0), TopicPartition(CONSUMER_OFFSETS, 3)


def commit(at: int, producer_id: int, group: str, offset: int) -> bytes:
    record = (5, OffsetCommitKey(group, "t", 0).encode(), OffsetCommitValue(offset, -1, "", 5).encode())
    batch = build_batch([record], producer_id=producer_id, producer_epoch=2, base_sequence=0, is_transactional=producer_id >= 0)
    patch_offset(batch, at, 0)
    return bytes(batch)


def pending(*batches: bytes) -> asking_groups.Pending:
    log = b"".join(batches)
    return asking_groups.pending([Partition(OFFSETS, 0, 0, len(batches)), Partition(PLACE, 0, 0, 9)], lambda *_asked: log)


def test_pending_offsets_until_their_marker() -> None:
    marker = bytes(end_transaction_marker(8, 2, True, 0, 1, base_offset=3))
    found = pending(commit(0, 7, "a", 1), commit(1, 8, "a", 2), commit(2, -1, "b", 3), marker, commit(4, 7, "a", 9))
    assert {group: [(one.producer_id, one.producer_epoch, one.offset) for one in of[PLACE]] for group, of in found.items()} == {
        "a": [(7, 2, 9)]
    }


def test_nothing_comes_or_it_is_damaged() -> None:
    assert asking_groups.pending([Partition(OFFSETS, 0, 0, 9)], lambda *_asked: b"") == {}
    assert pending(commit(0, 7, "a", 1)[:-5]) == {}


def test_groups_and_their_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has only pending offsets is listed; `wire/test_console.py` has members of both protocols."""
    monkeypatch.setattr(asking_groups, "GROUPS_A_REQUEST", 1)
    with stuck_broker() as stuck, Cluster(stuck.broker.bootstrap) as cluster:
        stuck.client.init("other")
        stuck.client.until_ready(
            ApiKey.OFFSET_COMMIT,
            5,
            lambda got: int(got.topics[0].partitions[0].error_code),
            group_id="simple",
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}]}],
        )
        found = {group.group_id: group for group in asking_groups.groups(cluster)}
    assert {id: group.kind for id, group in found.items()}["simple"] == "classic"
    assert found["simple"].committed[FIRST].offset == 3
    assert found["simple"].pending is None


def test_a_streams_group() -> None:
    whole = WholeBroker({"t": 2}, {"group.streams.initial.rebalance.delay.ms": "0"})
    with closing(whole), closing(ServedBroker(whole)) as served:
        streams_member(whole)
        with Cluster(f"127.0.0.1:{served.port}") as cluster:
            (group,) = asking_groups.groups(cluster)
    assert (group.kind, group.state, len(group.members)) == ("streams", "Stable", 1)
    assert group.members[0].partitions == (TopicPartition("t", 0), TopicPartition("t", 1))


def test_rights_that_are_missing() -> None:
    assert asking_groups.not_allowed(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert not asking_groups.not_allowed(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
