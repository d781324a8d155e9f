"""Questions about transactions: an error of the coordinator's, a filter that is none, a marker without a leader."""

from __future__ import annotations

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.transactions import describe_producers, listed, write_abort
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.console_kit import ID, stuck_broker

pytestmark = pytest.mark.unit


def test_listed_described_and_aborted() -> None:
    with stuck_broker() as stuck, Cluster(stuck.broker.bootstrap) as cluster:
        node = cluster.nodes()[0].node_id
        found = listed(cluster, node, messages.ListTransactionsRequest(state_filters=["Ongoing"], producer_id_filters=[]))
        assert [each.transactional_id for each in found] == [ID]
        with pytest.raises(SystemExit):
            listed(cluster, node, messages.ListTransactionsRequest(state_filters=["Sleeping"], producer_id_filters=[]))
        ((topic, number, producer),) = describe_producers(cluster, node, [("orders", 1)])
        assert (topic, number, producer.current_txn_start_offset) == ("orders", 1, 0)
        with pytest.raises(KafkaError):
            list(describe_producers(cluster, node, [("nothing", 0)]))
        write_abort(cluster, "orders", 1, *stuck.pair, 0)
        assert [each.current_txn_start_offset for _, _, each in describe_producers(cluster, node, [("orders", 1)])] == [-1]
        with pytest.raises(KafkaError) as refused:
            write_abort(cluster, "orders", 1, stuck.pair[0], -1, 0)
        assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
