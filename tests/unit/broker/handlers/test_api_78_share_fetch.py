"""ShareFetch on a whole broker in memory; the expectations are Apache Kafka's (`tests/golden/share`, F cases)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.records import iter_headers
from support.share_group import Member, ranges, share
from support.whole_broker import WholeBroker

ACCEPT, RELEASE, REJECT = [1], [2], [3]


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 1, "two": 2})
    share(made, "g", "t")
    share(made, "g", "two")
    yield made
    made.close()


def put(broker: WholeBroker, *sizes: int, topic: str = "t", partition: int = 0) -> None:
    for size in sizes:
        broker.append(topic, *[b"v"] * size, partition=partition)


def codes(answer: Any) -> list[tuple[int, int, int]]:
    """(partition, error, acknowledge error) of each partition."""
    return [(p.partition_index, p.error_code, p.acknowledge_error_code) for topic in answer.responses for p in topic.partitions]


def batches(answer: Any) -> list[tuple[int, int]]:
    """First and last offset of the batches in the answer's only partition."""
    (partition,) = answer.responses[0].partitions
    return [(header.base_offset, header.last_offset) for _, header in iter_headers(bytes(partition.records))]


def test_the_first_fetch_acquires_from_the_earliest(broker: WholeBroker) -> None:
    put(broker, 5)
    member = Member(broker, "g", "t")
    answer = member.begin().answer()
    assert (ranges(answer), answer.acquisition_lock_timeout_ms) == ([(0, 4, 1)], 30_000)
    assert member.begin().answer().responses == []


def test_the_default_begins_at_the_end(broker: WholeBroker) -> None:
    share(broker, "late", "t", auto_offset_reset="latest")
    put(broker, 3)
    member = Member(broker, "late", "t")
    assert member.fetch() == []
    put(broker, 2)
    assert member.fetch() == [(3, 4, 1)]


def test_epochs_of_sessions(broker: WholeBroker) -> None:
    put(broker, 5)
    member = Member(broker, "g", "t")
    assert member.begin(epoch=1).answer().error_code == 122
    assert member.begin([(0, 0, ACCEPT)], epoch=0).answer().error_code == 42
    assert member.fetch(epoch=0) == [(0, 4, 1)]
    assert member.begin(epoch=6).answer().error_code == 123
    assert member.fetch(epoch=1) == []
    wrong = member.begin(epoch=1).answer()
    assert (wrong.error_code, wrong.acquisition_lock_timeout_ms, wrong.responses) == (123, 0, [])
    assert member.fetch(epoch=-1) == []
    assert member.begin(epoch=-1).answer().error_code == 122
    assert member.fetch(epoch=0) == [(0, 4, 2)]
    again = member.begin(epoch=0).answer()
    assert (ranges(again), codes(again)) == ([], [(0, 0, 0)])  # the locks of the session before go on


def test_the_epoch_begins_anew(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    member.fetch()
    session = broker.context.sharing.sessions.go_on("g", "a", 1)
    session.epoch = 2**31 - 1
    assert member.fetch(epoch=2**31 - 1) == []
    assert member.fetch(epoch=1) == []


def test_most_records_and_portions(broker: WholeBroker) -> None:
    put(broker, 10)
    assert Member(broker, "g", "t").fetch(max_records=3) == [(0, 9, 1)]
    put(broker, 10, topic="two")
    exact = Member(broker, "g", "two")
    assert exact.fetch(max_records=3, share_acquire_mode=1) == [(0, 2, 1)]
    assert exact.fetch(max_records=4, share_acquire_mode=1) == [(3, 6, 1)]


def test_a_run_of_small_batches_is_portioned(broker: WholeBroker) -> None:
    put(broker, 3, 3, 3, 3)
    assert Member(broker, "g", "t").fetch(batch_size=5) == [(0, 5, 1), (6, 11, 1)]


def test_only_the_batches_that_were_acquired_are_sent(broker: WholeBroker) -> None:
    put(broker, 2, 2, 2)
    one, two = Member(broker, "g", "t"), Member(broker, "g", "t", "b")
    assert batches(one.begin(max_records=1).answer()) == [(0, 1)]
    assert batches(two.begin(max_records=1).answer()) == [(2, 3)]
    assert one.fetch() == [(4, 5, 1)]


def test_long_answers_come_from_the_file(broker: WholeBroker) -> None:
    for _ in range(4):
        broker.append("t", b"x" * 3_000, b"y" * 3_000)
    member = Member(broker, "g", "t")
    member.connection.at_once_bytes = 0
    assert batches(member.begin(max_records=1).answer()) == [(0, 1)]
    assert batches(member.begin(max_records=3).answer()) == [(2, 3), (4, 5)]


def test_members_of_one_partition_get_different_records(broker: WholeBroker) -> None:
    put(broker, 1, 1, 1)
    one, two = Member(broker, "g", "t"), Member(broker, "g", "t", "b")
    assert [one.fetch(max_records=1), two.fetch(max_records=1), one.fetch()] == [[(0, 0, 1)], [(1, 1, 1)], [(2, 2, 1)]]


def test_nobody_asks_for_membership(broker: WholeBroker) -> None:
    put(broker, 5)
    assert Member(broker, "g", "t", "nobody").fetch() == [(0, 4, 1)]
    assert Member(broker, "g", "t", "other").begin(topics=[]).answer().responses == []


def test_an_empty_fetch_waits_for_records(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    member.fetch()
    late = member.begin(max_wait_ms=600)
    assert late.waits
    broker.advance(600)
    assert late.answer().responses == []
    woken = member.begin(max_wait_ms=10_000)
    put(broker, 1)
    broker.settle()
    assert ranges(woken.answer()) == [(0, 0, 1)]


def test_a_release_wakes_others(broker: WholeBroker) -> None:
    put(broker, 5)
    one, two = Member(broker, "g", "t"), Member(broker, "g", "t", "b")
    one.fetch()
    waiting = two.begin(max_wait_ms=10_000)
    one.acknowledge((0, 1, RELEASE))
    broker.settle()
    assert ranges(waiting.answer()) == [(0, 1, 2)]
    waiting = two.begin(max_wait_ms=10_000)
    one.close()
    broker.settle()
    assert ranges(waiting.answer()) == [(2, 4, 2)]


def test_min_bytes_are_waited_for(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    waiting = member.begin(max_wait_ms=1_000, min_bytes=200)
    put(broker, 1)
    broker.settle()
    assert waiting.waits
    put(broker, 9)
    broker.settle()
    assert ranges(waiting.answer()) == [(0, 9, 1)]
    put(broker, 1)
    waiting = member.begin(max_wait_ms=1_000, min_bytes=200)
    assert waiting.waits
    broker.advance(1_000)
    assert ranges(waiting.answer()) == [(10, 10, 1)]


def test_the_lock_runs_out(broker: WholeBroker) -> None:
    share(broker, "g", "t", record_lock_duration_ms="15000")
    put(broker, 5)
    member = Member(broker, "g", "t")
    assert member.fetch() == [(0, 4, 1)]
    waiting = member.begin(max_wait_ms=20_000)
    broker.advance(14_990)
    assert waiting.waits
    broker.advance(20)
    answer = waiting.answer()
    assert (ranges(answer), answer.acquisition_lock_timeout_ms) == ([(0, 4, 2)], 15_000)
    assert member.acknowledge((0, 4, ACCEPT)) == (0, None)


def test_no_more_locks_than_allowed(broker: WholeBroker) -> None:
    share(broker, "g", "t", partition_max_record_locks="100")
    put(broker, *[40] * 6)
    member = Member(broker, "g", "t")
    assert member.fetch() == [(0, 119, 1)]
    waiting = member.begin(max_wait_ms=1_000)
    assert waiting.waits
    broker.advance(1_000)
    assert waiting.answer().responses == []
    assert member.acknowledge((0, 79, ACCEPT)) == (0, None)
    assert member.fetch() == [(120, 199, 1)]


def test_a_lost_connection_releases(broker: WholeBroker) -> None:
    put(broker, 5)
    one, two = Member(broker, "g", "t"), Member(broker, "g", "t", "b")
    one.fetch()
    one.connection.lose()
    broker.settle()
    assert two.fetch() == [(0, 4, 2)]
    assert one.begin(epoch=1).answer().error_code == 122


def test_who_has_gone_gets_nothing_more(broker: WholeBroker) -> None:
    one, two = Member(broker, "g", "t"), Member(broker, "g", "t", "b")
    waiting = one.begin(max_wait_ms=10_000)
    one.connection.lose()
    assert not waiting.waits
    put(broker, 1)
    assert two.fetch() == [(0, 0, 1)]


def test_acknowledgements_carried_by_a_fetch(broker: WholeBroker) -> None:
    put(broker, 5)
    member = Member(broker, "g", "t")
    member.fetch()
    put(broker, 5)
    answer = member.begin([(0, 4, ACCEPT)]).answer()
    assert (ranges(answer), codes(answer)) == ([(5, 9, 1)], [(0, 0, 0)])
    assert codes(member.begin([(0, 9, [9])]).answer()) == [(0, 0, 42)]
    assert codes(member.begin([(5, 9, ACCEPT)]).answer()) == [(0, 0, 0)]
    assert codes(member.begin([(5, 9, ACCEPT)], epoch=-1).answer()) == [(0, 0, 0)]


def test_a_renewal_in_a_fetch(broker: WholeBroker) -> None:
    put(broker, 5)
    member = Member(broker, "g", "t")
    member.fetch()
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}
    assert member.begin([(0, 4, [4])], is_renew_ack=True).answer().error_code == 42
    broker.advance(20_000)
    put(broker, 5)
    answer = member.begin([(0, 4, [4])], epoch=1, is_renew_ack=True, **nothing).answer()
    assert (ranges(answer), codes(answer)) == ([], [(0, 0, 0)])
    broker.advance(20_000)
    assert member.fetch() == [(5, 9, 1)]


def test_version_1(broker: WholeBroker) -> None:
    put(broker, 10)
    member = Member(broker, "g", "t")
    assert member.fetch(version=1, max_records=3) == [(0, 9, 1)]
    assert codes(member.begin([(0, 9, [4])], version=1).answer()) == [(0, 0, 42)]
    assert codes(member.begin([(0, 9, [1])], version=1).answer()) == [(0, 0, 0)]


def test_unknown_topics_and_partitions(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t", partitions=(7,))
    assert codes(member.begin().answer()) == [(7, 3, 0)]
    unknown = {"topic_id": "11111111-1111-1111-1111-111111111111", "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}
    answer = member.begin(epoch=0, topics=[unknown]).answer()
    assert codes(answer) == [(0, 100, 0)]


def test_forgotten_partitions_leave_the_session(broker: WholeBroker) -> None:
    put(broker, 1, topic="two")
    put(broker, 1, topic="two", partition=1)
    member = Member(broker, "g", "two", partitions=(0, 1))
    assert len(member.fetch()) == 2
    put(broker, 1, topic="two")
    put(broker, 1, topic="two", partition=1)
    gone = {"topic_id": member.topic_id, "partitions": [0]}
    assert codes(member.begin(forgotten_topics_data=[gone]).answer()) == [(1, 0, 0)]
    assert member.fetch() == []


def test_most_records_are_those_of_all_partitions(broker: WholeBroker) -> None:
    put(broker, 1, 1, 1, topic="two")
    put(broker, 1, 1, 1, topic="two", partition=1)
    member = Member(broker, "g", "two", partitions=(0, 1))
    assert [len(member.fetch(max_records=4)) for _ in range(3)] == [2, 1, 0]


def control(broker: WholeBroker, producer: int, *, commit: bool) -> None:
    now_ms = broker.clock.time_ms()
    broker.log("t").append_marker(producer, 0, 0, commit, now_ms)


def transactions(broker: WholeBroker) -> None:
    """Offsets 0-1 committed by the marker 2, 3-4 aborted by the marker 5."""
    broker.append("t", b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    control(broker, 7, commit=True)
    broker.append("t", b"c", b"d", producer_id=7, producer_epoch=0, base_sequence=2, is_transactional=True)
    control(broker, 7, commit=False)


def test_uncommitted_by_default(broker: WholeBroker) -> None:
    transactions(broker)
    assert Member(broker, "g", "t").fetch() == [(0, 5, 1)]


def test_committed_only(broker: WholeBroker) -> None:
    share(broker, "g", "t", isolation_level="read_committed")
    transactions(broker)
    member = Member(broker, "g", "t")
    assert member.fetch() == [(0, 2, 1), (5, 5, 1)]
    assert member.acknowledge((0, 2, ACCEPT), (5, 5, [0])) == (0, None)
    broker.append("t", b"e", producer_id=7, producer_epoch=0, base_sequence=4, is_transactional=True)
    waiting = member.begin(max_wait_ms=5_000)
    assert waiting.waits
    control(broker, 7, commit=True)
    broker.settle()
    assert ranges(waiting.answer()) == [(6, 7, 1)]


def test_aborted_ones_alone_are_passed_over(broker: WholeBroker) -> None:
    share(broker, "g", "t", isolation_level="read_committed")
    for number in range(3):
        broker.append("t", b"c", producer_id=7, producer_epoch=0, base_sequence=number, is_transactional=True)
        control(broker, 7, commit=False)
    put(broker, 1)
    assert Member(broker, "g", "t").fetch(max_records=1, share_acquire_mode=1) == [(1, 1, 1)]


def test_delete_records_beyond_the_start(broker: WholeBroker) -> None:
    put(broker, 5, 5)
    member = Member(broker, "g", "t")
    assert member.fetch() == [(0, 9, 1)]
    broker.log("t").advance_log_start(7)
    assert member.acknowledge((0, 6, ACCEPT)) == (0, None)
    assert member.acknowledge((0, 9, RELEASE)) == (0, None)
    assert member.fetch() == [(7, 9, 2)]


def test_a_duration_back(broker: WholeBroker) -> None:
    share(broker, "g", "t", auto_offset_reset="by_duration:PT1H")
    put(broker, 3)
    broker.advance(2 * 3_600_000)
    put(broker, 2)
    broker.advance(1_000)
    assert Member(broker, "g", "t").fetch() == [(3, 4, 1)]
    share(broker, "newer", "t", auto_offset_reset="by_duration:PT0S")
    assert Member(broker, "newer", "t").fetch() == []


def test_those_that_keep_failing_come_in_shrinking_pieces(broker: WholeBroker) -> None:
    put(broker, 10)
    member, seen = Member(broker, "g", "t"), []
    for _ in range(6):
        found = member.fetch()
        seen += found
        member.acknowledge((*found[0][:2], RELEASE))
    assert seen == [(0, 9, 1), (0, 9, 2), (0, 9, 3), (0, 4, 4), (0, 0, 5), (1, 1, 5)]


def test_the_limit_of_a_group(broker: WholeBroker) -> None:
    share(broker, "g", "t", delivery_count_limit="2")
    put(broker, 1)
    member = Member(broker, "g", "t")
    for delivery in (1, 2):
        assert member.fetch() == [(0, 0, delivery)]
        assert member.acknowledge((0, 0, RELEASE)) == (0, None)
    assert member.fetch() == []


def test_ids_of_members_and_groups(broker: WholeBroker) -> None:
    for group, name in ((None, "a"), ("g", None), ("g", ""), ("g", "m" * 37)):
        member = Member(broker, "g", "t")
        member.group, member.member = group, name  # type: ignore[assignment]
        assert member.begin().answer().error_code == 42
        assert member.acknowledge((0, 0, ACCEPT), epoch=1)[0] == 42


def test_rights(broker: WholeBroker) -> None:
    put(broker, 5)
    broker.deny(AclOperation.READ, ResourceType.TOPIC, "t")
    member = Member(broker, "g", "t")
    assert codes(member.begin().answer()) == [(0, 29, 0)]
    assert codes(member.begin([(0, 0, ACCEPT)]).answer()) == [(0, 29, 29)]
    broker.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert member.begin().answer().error_code == 30


def test_no_more_sessions_than_allowed() -> None:
    broker = WholeBroker({"t": 1}, {"group.share.max.share.sessions": "2", "group.share.max.size": "2"})
    share(broker, "g", "t")
    assert [Member(broker, "g", "t", name).fetch() for name in "ab"] == [[], []]
    third = Member(broker, "g", "t", "c")
    assert third.begin().answer().error_code == 133
    waiting = third.begin(epoch=0, max_wait_ms=500)
    assert waiting.waits
    broker.advance(500)
    assert waiting.answer().error_code == 133
    assert Member(broker, "g", "t", "a").fetch() == []  # in place of its other
    broker.close()


def test_a_state_that_cannot_be_read(broker: WholeBroker) -> None:
    put(broker, 1)
    assert codes(Member(broker, "never joined", "t").begin().answer()) == [(0, -1, 0)]


def test_altered_offsets_are_taken_up(broker: WholeBroker) -> None:
    put(broker, 5, 5)
    member = Member(broker, "g", "t")
    assert member.fetch() == [(0, 9, 1)]
    key = SharePartitionKey("g", member.topic_id, 0)
    assert not broker.context.persister.initialize(key, 2, 5)
    broker.context.sharing.forget(key)
    assert member.fetch() == [(5, 9, 1)]


def test_a_life_that_another_has_ended(broker: WholeBroker) -> None:
    put(broker, 5)
    member = Member(broker, "g", "t")
    member.fetch()
    assert not broker.context.persister.initialize(SharePartitionKey("g", member.topic_id, 0), 2, 3)
    answer = member.begin_acknowledge((0, 4, ACCEPT)).answer()
    assert [p.error_code for topic in answer.responses for p in topic.partitions] == [6]
    assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(broker.context.node_id, 9092)]
    assert member.fetch() == [(3, 4, 1)]


def test_many_partitions_take_turns() -> None:
    broker = WholeBroker({"many": 120})
    share(broker, "g", "many")
    for partition in range(0, 120, 2):
        put(broker, 1, topic="many", partition=partition)
    member = Member(broker, "g", "many", partitions=range(120))
    assert [len(member.fetch()) for _ in range(3)] == [50, 10, 0]
    waiting = member.begin(max_wait_ms=5_000)
    assert waiting.waits
    put(broker, 1, topic="many", partition=119)
    broker.settle()
    assert ranges(waiting.answer()) == [(0, 0, 1)]
    broker.close()
