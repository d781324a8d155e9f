"""The service, with what a cluster does to it once a year happening at the worst moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from oncelog.broker.testkit import Broker, assert_exactly_once, assert_no_open_transactions
from payments import serve

ORDERS = [f"order-{number}" for number in range(20)]
PAID = [f"paid {order}" for order in ORDERS]
RULES = Path(__file__).parents[1] / "rules"  # shared with the tests in other languages
IMPATIENT = {"reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}


@pytest.fixture(autouse=True)
def topics(oncelog: Broker) -> None:
    oncelog.create_topic("orders", 2)
    oncelog.create_topic("payments", 2)


@pytest.fixture
def start(oncelog: Broker) -> Iterator[Callable[[], None]]:
    """Start the service; it is stopped at the end."""
    stopping = threading.Event()
    service = threading.Thread(target=serve, args=(oncelog.bootstrap, stopping), kwargs=IMPATIENT)
    yield service.start
    stopping.set()
    if service.ident is not None:
        service.join(60)
        assert not service.is_alive()


def order(broker: Broker, orders: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, **IMPATIENT})
    for each in orders:
        producer.produce("orders", key=each, value=each)
    assert producer.flush(30) == 0


def wait_paid(broker: Broker, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(broker.records("payments")) < count or any(each["state"] == "Ongoing" for each in broker.state()["transactions"].values()):
        assert time.monotonic() < deadline, f"{len(broker.records('payments'))} of {count} are paid"
        time.sleep(0.01)


def all_paid_once(broker: Broker) -> None:
    wait_paid(broker, len(PAID))
    assert_exactly_once(broker, "payments", PAID)
    assert_no_open_transactions(broker)


def test_the_answer_to_a_commit_is_lost(oncelog: Broker, start: Callable[[], None]) -> None:
    oncelog.faults.add_rule(json.loads((RULES / "lost-answer.json").read_text()))
    order(oncelog, ORDERS)
    start()
    all_paid_once(oncelog)


def test_the_broker_is_killed_between_two_markers(oncelog: Broker, start: Callable[[], None]) -> None:
    oncelog.crash_at("after-marker")
    order(oncelog, ORDERS)
    start()
    oncelog.wait_down()
    oncelog.restart()
    all_paid_once(oncelog)


def test_the_power_fails_when_a_commit_is_decided(oncelog: Broker, start: Callable[[], None]) -> None:
    order(oncelog, ORDERS)
    oncelog.crash_at("after-prepare")
    start()
    oncelog.wait_down()
    oncelog.power_cut()
    oncelog.restart()
    all_paid_once(oncelog)


def test_the_service_pauses_for_longer_than_its_session(oncelog: Broker, start: Callable[[], None]) -> None:
    order(oncelog, ORDERS)
    pause = oncelog.faults.add(api="TxnOffsetCommit", group="payments", action="hold", must_hit=True)
    start()
    pause.wait_hit()
    oncelog.clock.advance(50)  # session.timeout.ms is 45 s, transaction.timeout.ms 60 s
    assert oncelog.state()["groups"]["payments"]["members"] == []
    pause.release()
    all_paid_once(oncelog)
