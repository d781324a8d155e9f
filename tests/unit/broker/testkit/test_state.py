"""What is told of a broker, in small pieces that are one JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.lifecycle import Broker
from oncelog.broker.testkit.state import state_pieces
from oncelog.protocol.api_keys import ApiKey
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"a": 2})
    yield made
    made.close()


def state_of(broker: Broker) -> dict[str, Any]:
    told: dict[str, Any] = json.loads("".join(state_pieces(broker)))
    return told


def init(broker: WholeBroker, id: str) -> int:
    asked = {"transactional_id": id, "transaction_timeout_ms": 5000, "producer_id": -1, "producer_epoch": -1}
    producer_id: int = broker.ask(ApiKey.INIT_PRODUCER_ID, 4, **asked).producer_id
    return producer_id


def commit(broker: WholeBroker, group: str, offsets: dict[int, int]) -> None:
    none = {"committed_leader_epoch": -1, "committed_metadata": ""}
    partitions = [{"partition_index": number, "committed_offset": offset, **none} for number, offset in offsets.items()]
    member = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    broker.ask(ApiKey.OFFSET_COMMIT, 8, group_id=group, **member, topics=[{"name": "a", "partitions": partitions}])


def test_offsets_and_producers_of_partitions(broker: WholeBroker) -> None:
    broker.append("a", b"before")
    broker.append("a", b"open", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    (first, second) = state_of(broker.broker)["topics"]["a"]["partitions"]
    assert (first["last_stable_offset"], first["high_watermark"]) == (1, 2)
    assert first["producers"] == [{"producer_id": 7, "producer_epoch": 0, "last_sequence": 0, "current_txn_start_offset": 1}]
    assert second["producers"] == []


def test_groups_and_transactional_ids(broker: WholeBroker) -> None:
    commit(broker, 'g"1', {1: 5, 0: 3})
    producer_id = init(broker, "t\n")
    state = state_of(broker.broker)
    assert state["groups"] == {'g"1': {"type": "classic", "state": "Empty", "members": [], "offsets": {"a-0": 3, "a-1": 5}}}
    told = state["transactions"]["t\n"]
    assert (told["state"], told["producer_id"], told["timeout_ms"], told["partitions"]) == ("Empty", producer_id, 5000, [])


def test_nothing_is_empty_objects() -> None:
    broker = WholeBroker({})
    assert state_of(broker.broker) == {"topics": {}, "groups": {}, "transactions": {}}
    broker.close()


def test_each_piece_tells_of_one_thing(broker: WholeBroker) -> None:
    for producer_id in range(30):
        broker.append("a", b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    commit(broker, "g", {0: 1, 1: 1})
    for number in range(3):
        init(broker, f"t-{number}")
    pieces = list(state_pieces(broker.broker))
    assert max(map(len, pieces)) < 300
    assert max(piece.count("producer_id") for piece in pieces) == 1
    assert json.loads("".join(pieces)) == state_of(broker.broker)


def test_what_goes_away_meanwhile_is_left_out(broker: WholeBroker) -> None:
    commit(broker, "g", {0: 1})
    pieces = state_pieces(broker.broker)
    told = [next(pieces)]
    broker.ask(ApiKey.DELETE_TOPICS, 4, topic_names=["a"], timeout_ms=1000)
    while not told[-1].startswith(', "groups"'):
        told.append(next(pieces))
    state = json.loads("".join([*told, *pieces]))
    assert state["topics"] == {}
    assert state["groups"] in ({}, {"g": {"type": "classic", "state": "Empty", "members": [], "offsets": {}}})
