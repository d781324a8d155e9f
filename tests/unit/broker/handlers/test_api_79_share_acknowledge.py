"""ShareAcknowledge on a whole broker in memory; the expectations are Apache Kafka's (`tests/golden/share`, F cases)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import StateBatch
from support.share_group import Member, share
from support.whole_broker import WholeBroker

ACCEPT, RELEASE, REJECT, RENEW, GAP = [1], [2], [3], [4], [0]
NOT_ACQUIRED = "The batch cannot be acknowledged. The batch is not in the acquired state."


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 1})
    share(made, "g", "t")
    made.append("t", *[b"v"] * 5)
    yield made
    made.close()


@pytest.fixture
def member(broker: WholeBroker) -> Member:
    """Holds 0-4."""
    made = Member(broker, "g", "t")
    assert made.fetch() == [(0, 4, 1)]
    return made


def written(member: Member) -> tuple[int, int, list[StateBatch]]:
    """Start offset, complete count and batches as they are on disk."""
    state = member.broker.context.persister.read(SharePartitionKey("g", member.topic_id, 0), member.broker.log("t").leader_epoch)
    assert not isinstance(state, ErrorCode)
    return state.start_offset, state.delivery_complete_count, list(state.batches)  # type: ignore[union-attr]


def test_accepting_moves_the_start(member: Member) -> None:
    assert member.acknowledge((0, 2, ACCEPT)) == (0, None)
    assert written(member) == (0, 3, [StateBatch(0, 2, 2, 1)])
    assert member.acknowledge((3, 4, ACCEPT)) == (0, None)
    assert written(member) == (3, 2, [StateBatch(3, 4, 2, 1)])


def test_released_comes_again(member: Member) -> None:
    assert member.acknowledge((0, 4, RELEASE)) == (0, None)
    assert member.fetch() == [(0, 4, 2)]


def test_rejected_never_comes_again(member: Member) -> None:
    assert member.acknowledge((0, 1, REJECT), (2, 4, RELEASE)) == (0, None)
    assert member.fetch() == [(2, 4, 2)]


def test_the_fifth_release_is_the_last(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    for delivery in range(1, 6):
        assert member.fetch(max_records=1, share_acquire_mode=1) == [(0, 0, delivery)]
        assert member.acknowledge((0, 0, RELEASE)) == (0, None)
    assert member.fetch() == [(1, 4, 1)]


def test_one_type_an_offset(member: Member) -> None:
    assert member.acknowledge((0, 4, [1, 2, 3, 2, 1])) == (0, None)
    assert member.fetch() == [(1, 1, 2), (3, 3, 2)]


def test_gaps(member: Member) -> None:
    assert member.acknowledge((0, 4, GAP)) == (0, None)
    assert written(member)[2] == [StateBatch(0, 4, 4, 1)]
    assert member.fetch() == []


def test_malformed_batches(member: Member) -> None:
    for batches in (
        [(3, 2, ACCEPT)],
        [(0, 2, [1, 1])],
        [(0, 2, [])],
        [(0, 2, [5])],
        [(0, 2, [-1])],
        [(0, 2, ACCEPT), (1, 4, ACCEPT)],
        [(0, 2, RENEW)],
    ):
        assert member.acknowledge(*batches) == (42, None)
    nothing = member.begin_acknowledge(epoch=8).answer()
    assert (nothing.error_code, nothing.responses) == (0, [])
    assert member.acknowledge((0, 4, ACCEPT)) == (0, None)


def test_what_is_not_the_members(broker: WholeBroker, member: Member) -> None:
    other = Member(broker, "g", "t", "b")
    other.fetch()
    assert other.acknowledge((0, 4, ACCEPT)) == (121, "Member is not the owner of batch record")
    past = "Batch record not found. The {} offset in request is past acquired records."
    assert member.acknowledge((7, 9, ACCEPT)) == (42, past.format("first"))
    assert member.acknowledge((2, 9, ACCEPT)) == (42, past.format("last"))
    assert [member.acknowledge((0, 1, ACCEPT)) for _ in range(2)] == [(0, None)] * 2
    assert member.acknowledge((3, 3, ACCEPT)) == (0, None)
    assert member.acknowledge((3, 3, ACCEPT)) == (121, "The offset cannot be acknowledged. The offset is not acquired.")


def test_all_of_a_partition_or_nothing(member: Member) -> None:
    assert member.acknowledge((0, 1, ACCEPT), (2, 9, ACCEPT))[0] == 42
    assert member.acknowledge((0, 4, ACCEPT)) == (0, None)


def test_closing_releases_the_rest(broker: WholeBroker, member: Member) -> None:
    assert member.close((0, 1, ACCEPT)) == (0, None)
    assert Member(broker, "g", "t", "b").fetch() == [(2, 4, 2)]
    assert member.begin(epoch=1).answer().error_code == 122


def test_too_late(broker: WholeBroker, member: Member) -> None:
    broker.advance(30_010)
    assert member.acknowledge((0, 4, ACCEPT)) == (121, NOT_ACQUIRED)


def test_renewing_keeps_the_lock(broker: WholeBroker, member: Member) -> None:
    broker.advance(20_000)
    assert member.acknowledge((0, 4, RENEW), renew=True) == (0, None)
    broker.advance(20_000)
    assert member.acknowledge((0, 4, ACCEPT)) == (0, None)
    assert written(member)[2] == [StateBatch(0, 4, 2, 1)]


def test_renewing_and_other_types_in_one(broker: WholeBroker, member: Member) -> None:
    assert member.acknowledge((0, 4, [4, 1, 4, 2, 4]), renew=True) == (0, None)
    assert member.fetch() == [(3, 3, 2)]
    assert member.acknowledge((0, 0, ACCEPT), renew=True) == (0, None)  # the flag alone is fine


def test_renewing_switched_off(broker: WholeBroker, member: Member) -> None:
    share(broker, "off", "t", renew_acknowledge_enable="false")
    other = Member(broker, "off", "t")
    other.fetch()
    assert other.acknowledge((0, 4, RENEW), renew=True)[0] == 121
    assert other.acknowledge((0, 4, ACCEPT), renew=True) == (0, None)


def test_version_1_knows_no_renewal(member: Member) -> None:
    assert member.acknowledge((0, 4, RENEW), version=1) == (42, None)
    assert member.acknowledge((0, 4, ACCEPT), version=1) == (0, None)


def test_sessions(broker: WholeBroker) -> None:
    member = Member(broker, "g", "t")
    assert member.acknowledge((0, 0, ACCEPT), epoch=1) == (122, None)
    assert member.acknowledge((0, 0, ACCEPT), epoch=0) == (123, None)
    member.fetch(epoch=0)
    assert member.acknowledge((0, 0, ACCEPT), epoch=4) == (123, None)
    assert member.acknowledge((0, 0, ACCEPT), epoch=1) == (0, None)
    assert member.fetch(epoch=2) == []
    assert member.close() == (0, None)


def test_unknown_topics_and_partitions(broker: WholeBroker, member: Member) -> None:
    member.partitions = (7,)
    assert member.acknowledge((0, 0, ACCEPT))[0] == 3
    member.topic_id = "11111111-1111-1111-1111-111111111111"
    assert member.acknowledge((0, 0, ACCEPT))[0] == 100


def test_a_deleted_topic(broker: WholeBroker, member: Member) -> None:
    broker.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["t"], timeout_ms=1_000)
    assert member.acknowledge((0, 0, ACCEPT))[0] == 100


def test_a_group_without_sessions_is_loaded_anew(broker: WholeBroker, member: Member) -> None:
    sharing = broker.context.sharing
    key = SharePartitionKey("g", member.topic_id, 0)
    before = sharing.host(*key)
    member.close()
    assert sharing.known_host(*key) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.fetch() == [(0, 4, 2)]
    assert sharing.host(*key) is not before
    member.connection.lose()
    assert Member(broker, "g", "t").fetch() == [(0, 4, 3)]


def test_two_thousand_single_acknowledgements(broker: WholeBroker) -> None:
    for _ in range(40):
        broker.append("t", *[b"v"] * 50)
    member = Member(broker, "g", "t")
    member.fetch(max_records=2_000)
    assert member.acknowledge(*[(n, n, ACCEPT) for n in range(0, 2_000, 2)]) == (0, None)
    assert member.acknowledge(*[(n, n, ACCEPT) for n in range(1, 2_000, 2)]) == (0, None)
