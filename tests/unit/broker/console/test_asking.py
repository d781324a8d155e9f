"""Questions over the wire, put to a broker of ours; `wire/test_console.py` puts them to any Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.console import asking
from oncelog.broker.console.asking import Leaders
from oncelog.broker.console.drawing import batches_in
from oncelog.broker.console.model import Refused, Transaction
from oncelog.coordinator.txn.state import TWO_PHASE_COMMIT_TIMEOUT_MS
from oncelog.protocol.names import TopicPartition
from support.console_kit import FIRST, ID, SECOND, Stuck, stuck_broker

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def stuck() -> Iterator[Stuck]:
    with stuck_broker() as made:
        yield made


@pytest.fixture
def asked(stuck: Stuck) -> Iterator[tuple[Cluster, Leaders]]:
    with Cluster(stuck.broker.bootstrap) as cluster:
        leaders = Leaders(cluster)
        leaders.refresh()
        yield cluster, leaders


def test_edges_in_lots(asked: tuple[Cluster, Leaders], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PARTITIONS_A_REQUEST", 2)
    edges = asking.edges(*asked, [*asked[1].of, TopicPartition("gone", 0)])
    assert edges.keys() == asked[1].of.keys()
    assert (edges[FIRST].log_start_offset, edges[FIRST].last_stable_offset, edges[FIRST].high_watermark) == (0, 4, 6)
    assert asking.edges(*asked, []) == {}


def test_a_partition_deleted_meanwhile_is_left_out(asked: tuple[Cluster, Leaders]) -> None:
    cluster, leaders = asked
    leaders.of[TopicPartition("gone", 0)] = leaders.of[FIRST]
    assert asking.edges(cluster, leaders, [FIRST, TopicPartition("gone", 0)]).keys() == {FIRST}
    del leaders.of[TopicPartition("gone", 0)]


def test_transactions_and_producers(asked: tuple[Cluster, Leaders], stuck: Stuck) -> None:
    (each,) = asking.transactions(asked[0], only_open=True)
    assert (each.transactional_id, each.state, (each.producer_id, each.producer_epoch)) == (ID, "Ongoing", stuck.pair)
    assert each.start_ms is not None
    assert each.aborts_at_ms == each.start_ms + each.timeout_ms
    assert (each.last_update_ms, each.transaction_version, each.owner.client_id) == (None, None, None)
    assert {FIRST, SECOND} <= each.partitions
    opened = asking.open_of(asking.producers(*asked, [FIRST])[FIRST])
    assert [(one.producer_id, one.first_offset) for one in opened] == [(stuck.pair[0], 4)]


def test_reading(asked: tuple[Cluster, Leaders]) -> None:
    assert [row["base_offset"] for row in batches_in(asking.read(*asked, FIRST, 4, 1 << 20))] == [4, 5]
    assert asking.read(*asked, FIRST, 6, 100) == asking.read(*asked, FIRST, 99, 100) == b""
    assert asking.read(*asked, TopicPartition("gone", 0), 0, 100) == b""
    assert asking.offset_at(*asked, FIRST, 0) == 0
    assert asking.offset_at(*asked, FIRST, 1 << 50) is None


def test_two_phase_commit_is_its_owners() -> None:
    prepared = Transaction("t", 1, 0, "Ongoing", TWO_PHASE_COMMIT_TIMEOUT_MS, 1, None, None, None, frozenset(), (1,))
    with pytest.raises(Refused, match="two-phase commit"):
        asking.abort(Cluster("127.0.0.1:1"), prepared)
