"""`__transaction_state`: what a record holds, and what a shard knows when it has read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.coordinator.txn.shard import TransactionLogFormat, TxnShard
from oncelog.coordinator.txn.state import STORED_STATES, TransactionMetadata
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit
PLACES = frozenset({TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)})
ONGOING = TransactionMetadata("t", 9, 4, 60_000, S.ONGOING, 2_000, PLACES, 1_000, 3, 8, 10, 0, 2)


def shard(*metadata: TransactionMetadata, level: int = 2) -> TxnShard:
    made = TxnShard(0)
    for each in metadata:
        put(made, each, level)
    return made


def put(into: TxnShard, metadata: TransactionMetadata, level: int = 2) -> None:
    record = TransactionLogFormat(level).record(metadata)
    replay(into, record.key, record.value)


def replay(into: TxnShard, key: bytes, value: bytes | None, content: TransactionMetadata | None = None) -> None:
    into.replay(key, value, offset=0, producer_id=-1, producer_epoch=-1, timestamp_ms=0, content=content)


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_ABORT])
def test_a_record_holds_everything(state: S) -> None:
    written = ONGOING._replace(state=state, partitions=frozenset() if state in (S.EMPTY, S.COMPLETE_ABORT) else PLACES)
    assert shard(written).get("t") == written


places = st.frozensets(st.builds(TopicPartition, st.sampled_from(("a", "b", "\u00e4" * 70)), st.integers(0, 200)), max_size=5)
histories = st.lists(
    st.builds(
        TransactionMetadata,
        st.sampled_from(("t", "u")),
        st.integers(0, 5),
        st.integers(0, 32_767),
        st.integers(0, 2**31 - 1),
        st.sampled_from(STORED_STATES),
        st.integers(0, 2**50),
        places,
        st.integers(-1, 2**50),
        st.integers(-1, 32_767),
        st.integers(-1, 5),
        st.integers(-1, 5),
        st.integers(-1, 32_767),
        st.integers(0, 2),
    ),
    max_size=6,
)


@given(histories, st.sampled_from((1, 2)))
def test_what_was_just_written_is_taken_over_as_it_is_read_at_a_start(history: list[TransactionMetadata], level: int) -> None:
    written, read = TxnShard(0), TxnShard(0)
    for each in history:
        txn = each._replace(partitions=frozenset()) if each.state is S.EMPTY else each
        record = TransactionLogFormat(level).record(txn)
        assert record.content == txn
        replay(written, record.key, record.value, record.content)
        replay(read, record.key, record.value)
    assert written.transactions == read.transactions
    assert [written.of_producer(id) for id in range(6)] == [read.of_producer(id) for id in range(6)]


def test_what_version_0_does_not_tell_is_forgotten_at_once() -> None:
    assert TransactionLogFormat(0).record(ONGOING._replace(client_transaction_version=0)).content is None


@pytest.mark.parametrize("level", [1, 2])
def test_a_record_tells_the_last_epoch_from_level_1_on(level: int) -> None:
    assert TransactionLogFormat(level).tells_last_epoch
    assert TransactionLogFormat(level).record(ONGOING).value[:2] == b"\x00\x01"  # type: ignore[index]


def test_level_0_has_no_tags_and_refuses_what_it_cannot_hold() -> None:
    assert not TransactionLogFormat(0).tells_last_epoch
    plain = ONGOING._replace(client_transaction_version=0)
    assert TransactionLogFormat(0).record(plain).value[:2] == b"\x00\x00"  # type: ignore[index]
    read = shard(plain, level=0).get("t")
    assert read is not None
    assert (read.last_producer_epoch, read.previous_producer_id, read.next_producer_id) == (-1, -1, -1)
    with pytest.raises(KafkaError) as refused:
        TransactionLogFormat(0).record(ONGOING)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_transaction_is_found_by_each_of_its_producer_ids_while_it_has_them() -> None:
    made = shard(ONGOING)
    assert [made.of_producer(id) for id in (8, 9, 10, 11)] == [ONGOING] * 3 + [None]
    later = ONGOING._replace(previous_producer_id=9, producer_id=10, next_producer_id=-1)
    put(made, later)
    assert [made.of_producer(id) for id in (8, 9, 10)] == [None, later, later]


def test_a_tombstone_takes_the_id_and_what_was_remembered_of_it() -> None:
    made = shard(ONGOING)
    made.remember(ONGOING)
    replay(made, TransactionLogFormat(2).tombstone("t").key, None)
    assert (made.get("t"), made.of_producer(9)) == (None, None)
    bare = ONGOING._replace(last_producer_epoch=-1, previous_producer_id=-1)
    assert made.with_last_epoch(bare) == bare


def test_what_was_remembered_counts_for_its_own_epoch_only() -> None:
    made = shard(ONGOING)
    made.remember(ONGOING)
    bare = ONGOING._replace(last_producer_epoch=-1, previous_producer_id=-1)
    assert made.with_last_epoch(bare) == ONGOING
    for other in (bare._replace(producer_epoch=5), bare._replace(producer_id=7), bare._replace(transactional_id="u")):
        assert made.with_last_epoch(other) == other


def test_keys_of_unknown_versions_are_skipped() -> None:
    made = shard(ONGOING)
    replay(made, b"\x00\x63" + bytes(6), b"whatever")
    assert made.transactions == {"t": ONGOING}


def test_pending() -> None:
    made = shard(ONGOING)
    made.set_pending("t")
    assert (made.is_pending("t"), made.is_pending("u")) == (True, False)
    made.clear_pending("t")
    made.clear_pending("t")
    assert not made.is_pending("t")
