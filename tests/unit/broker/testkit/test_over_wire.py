"""By Fetch the same is seen as from inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.testkit import Broker
from oncelog.broker.testkit import over_wire as module
from oncelog.broker.testkit.over_wire import OverWire
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        yield made


@pytest.mark.parametrize("read_bytes", [1, 1 << 20])
def test_records_and_outcomes(broker: Broker, read_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_BYTES", read_bytes)
    wire = OverWire(broker.bootstrap)
    wire.create_topic("a", 2, {})
    with Client(broker.bootstrap) as client:
        for number, end in enumerate((True, False, True, None)):
            id = f"t{number}"
            pair = client.init(id)
            for sequence, place in enumerate((TopicPartition("a", 0), TopicPartition("a", 0), TopicPartition("a", 1))):
                assert client.produce(TV2, id, pair, sequence % 2, place, b"%d" % number) is ErrorCode.NONE
            assert client.produce(TV2, None, (-1, -1), -1, TopicPartition("a", 1), b"plain") is ErrorCode.NONE
            if end is not None:
                assert client.end(TV2, id, pair, end)[0] is ErrorCode.NONE
    for level in IsolationLevel:
        assert wire.records("a", level) == broker.records("a", level.name.lower())
    assert len(wire.records("a", IsolationLevel.READ_COMMITTED)) == 9
    assert wire.outcomes("a") == broker.outcomes("a")
    assert {told for _record, told in wire.outcomes("a")} == {"committed", "aborted", "open", "plain"}


def test_what_cannot_be_had(broker: Broker) -> None:
    wire = OverWire(broker.bootstrap)
    wire.create_topic("a", 3, {"cleanup.policy": "compact"})
    made = broker.state()["topics"]["a"]
    assert (len(made["partitions"]), made["configs"]) == (3, {"cleanup.policy": "compact"})
    assert wire.records("a", IsolationLevel.READ_COMMITTED) == []
    with pytest.raises(KafkaError, match="exists"):
        wire.create_topic("a", 1, {})
    with pytest.raises(LookupError, match="no topic b"):
        wire.records("b", IsolationLevel.READ_COMMITTED)
    assert "b" not in broker.state()["topics"]
