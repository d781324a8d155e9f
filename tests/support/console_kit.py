"""A broker with a consumer that stands still, and asking its inspector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote

from oncelog.broker.testkit import Broker
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

from support.control_client import Answer, ask
from support.txn_client import TV0, Client, Pair

ID = "orders/1 <b>"
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Stuck(NamedTuple):
    """`pair`: of the producer whose transaction is open on both partitions; one was committed and one aborted before on the first."""

    broker: Broker
    client: Client
    pair: Pair

    @property
    def token(self) -> str:
        return self.broker.console_url.partition("?token=")[2]

    def get(self, path: str) -> Answer:
        return ask(self.broker.control_url, "GET", f"/api/v1/{path}")

    def abort(self, id: str, body: object = None, token: str | None = None, **headers: str) -> Answer:
        given = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return ask(self.broker.control_url, "POST", f"/api/v1/transactions/{quote(id, safe='')}/abort", body, **given, **headers)


@contextmanager
def stuck_broker() -> Iterator[Stuck]:
    with Broker(control=True) as broker, Client(broker.bootstrap) as client:
        yield Stuck(broker, client, make_stuck(client))


def make_stuck(client: Client, topic: str = "orders", id: str = ID, group: str = "billing") -> Pair:
    """The same on any Kafka."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    for kind in (0, 1):
        client.until_ready(ApiKey.FIND_COORDINATOR, 3, lambda got: int(got.error_code), key="any", key_type=kind)
    client.create(topic, 2)
    pair = client.init(id)
    for sequence, commit in ((0, True), (1, False)):
        assert client.produce(TV0, id, pair, sequence, first, b"ended") is ErrorCode.NONE
        assert client.end(TV0, id, pair, commit)[0] is ErrorCode.NONE
    assert client.produce(TV0, id, pair, 2, first, b"open") is ErrorCode.NONE
    assert client.produce(TV0, id, pair, 0, second, b"open") is ErrorCode.NONE
    assert client.send_offsets(TV0, id, pair, group, [(first, 2)]) is ErrorCode.NONE
    assert client.produce(TV0, None, (-1, -1), -1, first, b"behind it") is ErrorCode.NONE
    return pair
