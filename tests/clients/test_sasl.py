"""Stock clients that must log in: every mechanism, a wrong password, and sessions that end in the middle of work."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from kafka import KafkaConsumer, KafkaProducer
from referee import apache_kafka
from support.process import BrokerProcess, wait_until
from support.programs import facts

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SESSION_MS = 1200
MODULES = "org.apache.kafka.common.security"
USERS = f'{MODULES}.plain.PlainLoginModule required username="root" password="r00t" user_root="r00t" user_amy="secret";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required;"
SETTINGS = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": USERS,
    **{f"listener.name.plaintext.{kind.lower()}.sasl.jaas.config": SCRAM for kind in MECHANISMS[1:]},
    "connections.max.reauth.ms": str(SESSION_MS),
}


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a broker where everybody logs in: `root` and `amy`, the latter by every mechanism."""
    folder = tmp_path_factory.mktemp("guarded")
    given = request.config.getoption("--bootstrap")
    with (
        apache_kafka.ApacheKafka(folder, apache_kafka.free_ports(), SETTINGS)
        if given
        else BrokerProcess(folder / "data", SETTINGS) as broker
    ):
        if given:
            broker.start()
        admin = AdminClient(librdkafka(broker.bootstrap, "PLAIN", "root", "r00t"))
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialUpsertion("amy", ScramCredentialInfo(mechanism, 4096), b"secret")
            admin.alter_user_scram_credentials([wanted])["amy"].result(20)
        yield broker.bootstrap


def librdkafka(bootstrap: str, mechanism: str, user: str = "amy", password: str = "secret") -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def python(bootstrap: str, mechanism: str, password: str = "secret") -> dict[str, Any]:
    """kafka-python's and aiokafka's words for it."""
    return {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "amy",
        "sasl_plain_password": password,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent(guarded: str, name: str, mechanism: str) -> None:
    settings = librdkafka(guarded, mechanism)
    producer = Producer(settings)
    producer.produce(name, b"one")
    assert producer.flush(20) == 0
    consumer = Consumer({**settings, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    message = wait_until(lambda: consumer.poll(0.2), 20, "the message")
    assert message.value() == b"one"
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(guarded: str, name: str, mechanism: str) -> None:
    settings = python(guarded, mechanism)
    producer = KafkaProducer(**settings)
    producer.send(name, b"one").get(20)
    producer.close()
    consumer = KafkaConsumer(name, group_id=name, auto_offset_reset="earliest", **settings)
    found = consumer.poll(20_000)  # in one go: with short polls 3.0.12 can forget an assignment that came after its time
    assert [record.value for records in found.values() for record in records] == [b"one"]
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_from_before_sasl_authenticate(guarded: str, name: str, mechanism: str) -> None:
    """Told that the broker is a 0.11, it shakes hands with v0 and sends its tokens without a request around them."""
    producer = KafkaProducer(**python(guarded, mechanism), api_version=(0, 11))
    assert producer.send(name, b"one").get(20).offset == 0
    producer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(guarded: str, name: str, mechanism: str) -> None:
    async def main() -> None:
        settings = python(guarded, mechanism)
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(name, b"one")
        async with AIOKafkaConsumer(name, group_id=name, auto_offset_reset="earliest", **settings) as consumer:
            assert (await asyncio.wait_for(consumer.getone(), 20)).value == b"one"

    asyncio.run(main())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_with_a_wrong_password(guarded: str, mechanism: str) -> None:
    told: list[KafkaError] = []
    producer = Producer({**librdkafka(guarded, mechanism, password="wrong"), "error_cb": told.append})
    wait_until(lambda: producer.poll(0.1) or told, 20, "an error")
    assert told[0].name() == "_AUTHENTICATION"


REFUSED = """
import json, sys
from kafka import KafkaProducer
try:
    KafkaProducer(**json.loads(sys.argv[1]), bootstrap_timeout_ms=1000)
except Exception as refused:
    print(json.dumps({"refused": type(refused).__name__}))
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_with_a_wrong_password(guarded: str, mechanism: str) -> None:
    """It tries again until its time is over; in a process of its own, as it leaves sockets behind."""
    told = facts([sys.executable, "-c", REFUSED, json.dumps(python(guarded, mechanism, "wrong"))])
    assert told == {"refused": "KafkaTimeoutError"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_with_a_wrong_password(guarded: str, mechanism: str) -> None:
    async def main() -> None:
        producer = AIOKafkaProducer(**python(guarded, mechanism, "wrong"))
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(KafkaConnectionError):  # with the broker's answer in its log
        asyncio.run(main())


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512"])
def test_confluent_logs_in_again_in_the_middle_of_work(guarded: str, name: str, mechanism: str) -> None:
    told: list[Any] = []
    states: list[dict[str, Any]] = []
    settings = librdkafka(guarded, mechanism) | {"error_cb": told.append}
    producer = Producer({**settings, "statistics.interval.ms": 500, "stats_cb": lambda text: states.append(json.loads(text))})
    number, end = 0, time.monotonic() + 3 * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.produce(name, b"%d" % number, on_delivery=lambda error, _message: error and told.append(error))
        number += 1
        assert producer.flush(20) == 0
    assert told == []
    connects = [broker["connects"] for broker in states[-1]["brokers"].values() if broker["nodeid"] >= 0]
    assert connects == [1]  # on the same connection
    consumer = Consumer({**settings, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    found: list[bytes] = []
    wait_until(lambda: found.extend(m.value() for m in consumer.consume(500, 0.2)) or len(found) >= number, 20, "all messages")
    assert found == [b"%d" % n for n in range(number)]
    consumer.close()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256"])
def test_kafka_python_logs_in_again_in_the_middle_of_work(guarded: str, name: str, mechanism: str) -> None:
    settings = python(guarded, mechanism)
    producer = KafkaProducer(**settings)
    number, end = 0, time.monotonic() + 3 * SESSION_MS / 1000
    while time.monotonic() < end:
        assert producer.send(name, b"%d" % number, partition=0).get(20).offset == number
        number += 1
    producer.close()


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_java_logs_in_again_in_the_middle_of_work(guarded: str, name: str, mechanism: str, java_command: Callable[..., list[str]]) -> None:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    security = [
        "security.protocol=SASL_PLAINTEXT",
        f"sasl.mechanism={mechanism}",
        f'sasl.jaas.config={MODULES}.{module} required username="amy" password="secret";',
    ]
    assert facts(java_command("Clients", "login", guarded, name, str(3 * SESSION_MS), *security)) == {"same": True}
