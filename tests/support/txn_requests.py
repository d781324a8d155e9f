"""Transactions of a `WholeBroker`, begun and ended by the requests that clients send."""

from __future__ import annotations

from typing import Any, NamedTuple

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

from support.whole_broker import WholeBroker

# what a transaction's offsets need, and the error without it: operation, kind and name of the resource, code
RIGHTS_OF_OFFSETS = [
    (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (AclOperation.READ, ResourceType.GROUP, "g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
]


class Pair(NamedTuple):
    """A producer id and epoch: keyword arguments of most requests."""

    producer_id: int
    producer_epoch: int

    @property
    def fields(self) -> dict[str, int]:
        return self._asdict()


def init(broker: WholeBroker, id: str | None = "x", *, version: int = 5, **fields: Any) -> Any:
    """The answer to InitProducerId."""
    return broker.ask(ApiKey.INIT_PRODUCER_ID, version, **{"transactional_id": id, "transaction_timeout_ms": 60_000, **fields})


def initialised(broker: WholeBroker, id: str = "x") -> Pair:
    answer = init(broker, id)
    assert answer.error_code == ErrorCode.NONE
    return Pair(answer.producer_id, answer.producer_epoch)


def add(broker: WholeBroker, pair: Pair, *topics: tuple[str, list[int]], id: str = "x", version: int = 3) -> list[tuple[str, int, int]]:
    """(topic, partition, error) as AddPartitionsToTxn answers a client."""
    fields = {
        "v3_and_below_transactional_id": id,
        "v3_and_below_producer_id": pair.producer_id,
        "v3_and_below_producer_epoch": pair.producer_epoch,
        "v3_and_below_topics": [{"name": name, "partitions": partitions} for name, partitions in topics],
    }
    answer = broker.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, **fields)
    return verdicts(answer.results_by_topic_v3_and_below)


def verdicts(topics: Any) -> list[tuple[str, int, int]]:
    return [(topic.name, each.partition_index, each.partition_error_code) for topic in topics for each in topic.results_by_partition]


def begun(broker: WholeBroker, id: str = "x", topic: str = "t", partition: int = 0) -> Pair:
    """An open transaction with one record in `topic`."""
    pair = initialised(broker, id)
    assert add(broker, pair, (topic, [partition]), id=id) == [(topic, partition, 0)]
    broker.append(
        topic,
        b"v",
        partition=partition,
        producer_id=pair.producer_id,
        producer_epoch=pair.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    return pair


def end(broker: WholeBroker, pair: Pair, *, committed: bool = True, id: str = "x", version: int = 4) -> Any:
    """The answer to EndTxn."""
    return broker.ask(ApiKey.END_TXN, version, transactional_id=id, committed=committed, **pair.fields)


def state(broker: WholeBroker, id: str = "x") -> str:
    return broker.context.transactions.describe(id).state
