"""Test kits start the image as they start those they know: their command, variables, script and log line, step by step, without an engine.

Versions: Testcontainers for Java 2.0.5 (`KafkaContainer.java`, `KafkaHelper.java`, `ConfluentKafkaContainer.java`), Go 0.45.0 (`kafka.go`),
Python 4.15.0 (`community/kafka`), Node 12.1.0 (`kafka-container.ts`), .NET 4.13.0 (`KafkaBuilder.cs`), Quarkus 3
(`OfficialKafkaContainer.java`, a subclass of Java's). Ports inside and outside are the same here: nothing maps them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from support.image import Container, Image
from support.process import free_port

KRAFT_READY, OLD_READY, PYTHON_READY = (
    r"Transitioning from RECOVERY to RUNNING",
    r"\[KafkaServer id=\d+\] started",
    r"Kafka Server started",
)
BROKER_HOST = "4f5e6a7b8c9d"  # the name that an engine gives a container
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
QUOTED_ID, RANDOM_ID = f'"{CLUSTER_ID}"', '"$(kafka-storage random-uuid)"'

SHARED = {
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
TXN_LOG = {"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1", "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1"}
KRAFT = {"KAFKA_NODE_ID": "1", "KAFKA_PROCESS_ROLES": "broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER"}
THREE = "PLAINTEXT://0.0.0.0:{client},BROKER://0.0.0.0:{broker},CONTROLLER://0.0.0.0:{controller}"
TWO = "PLAINTEXT://0.0.0.0:{client},BROKER://0.0.0.0:{broker}"
ADVERTISED = "PLAINTEXT://localhost:{client},BROKER://{host}:{broker}"
VOTERS = "1@localhost:{controller}"


@dataclass(frozen=True)
class Kit:
    """How one module starts a container. In texts `{client}`, `{broker}`, `{controller}` are ports and `{host}` the container's name."""

    path: str  # where it puts its start script once the container runs
    script: str
    environment: Mapping[str, str]
    ready: str = KRAFT_READY
    command: str = "while [ ! -f {path} ]; do sleep 0.1; done; {path}"
    entry_point: tuple[str, ...] | None = None  # None: the image's own
    mode: int = 0o777
    seconds: float = 60.0
    extra: Mapping[str, str] = field(default_factory=dict)  # further listeners, by what they advertise


JAVA = {**SHARED, **TXN_LOG, **KRAFT, "CLUSTER_ID": CLUSTER_ID, "KAFKA_LISTENERS": THREE, "KAFKA_CONTROLLER_QUORUM_VOTERS": VOTERS}
JAVA_PATH = "/tmp/testcontainers_start.sh"
EXPORT = f"export KAFKA_ADVERTISED_LISTENERS={ADVERTISED}\n"
OLD_JAVA = {**SHARED, **TXN_LOG, "KAFKA_BROKER_ID": "1", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
NO_ENSURE = "echo '' > /etc/confluent/docker/ensure \n"
DELETE = "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"


def formatting(cluster_id: str) -> str:
    """The line that has the directory formatted by a step of the image's own."""
    command = f"kafka-storage format --ignore-formatted -t {cluster_id} -c /etc/kafka/kafka.properties"
    return f"echo '{command}' >> /etc/confluent/docker/configure\n"


def zookeeper(file: str) -> str:
    """The lines that have a ZooKeeper started beside the broker."""
    lines = (
        f"'clientPort=2181' > {file}",
        f"'dataDir=/var/lib/zookeeper/data' >> {file}",
        f"'dataLogDir=/var/lib/zookeeper/log' >> {file}",
    )
    return "".join(f"echo {line}\n" for line in lines) + f"zookeeper-server-start {file} &\n"


NODE = {
    **OLD_JAVA,
    "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
    "KAFKA_ADVERTISED_LISTENERS": "BROKER://localhost:{broker}",
    "KAFKA_LISTENERS": TWO,
}
NODE_COMMAND = "echo 'Waiting for script...'; while [ ! -f {path} ]; do sleep 0.1; done; {path}"
NODE_EXPORT = "export KAFKA_ADVERTISED_LISTENERS=BROKER://{host}:{broker},PLAINTEXT://localhost:{client}\n"
DOTNET = {
    **JAVA,
    "KAFKA_BROKER_ID": "1",
    "KAFKA_LISTENERS": "PLAINTEXT://:{client},BROKER://:{broker},CONTROLLER://:{controller}",
}
DOTNET_EXPORT = f"export KAFKA_ADVERTISED_LISTENERS={ADVERTISED},\n"  # and then those that were added: none
PYTHON_START = (
    "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:{client},BROKER://$(hostname -i | cut -d' ' -f1):{broker}\n"
    ". /etc/confluent/docker/bash-config\n/etc/confluent/docker/configure\n/etc/confluent/docker/launch"
)

KITS = {
    "java, apache/kafka": Kit(JAVA_PATH, f"#!/bin/bash\n{EXPORT}/etc/kafka/docker/run \n", JAVA),
    "java, cp-kafka": Kit(JAVA_PATH, f"#!/bin/bash\n{EXPORT}/etc/confluent/docker/run \n", JAVA),
    "java, a listener of the user's": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{EXPORT.strip()},TC-0://kafka:{{extra}}\n/etc/kafka/docker/run \n",
        {
            **JAVA,
            # the order of a hash set, and the host that the user named
            "KAFKA_LISTENERS": "CONTROLLER://0.0.0.0:{controller},TC-0://localhost:{extra},BROKER://0.0.0.0:{broker},PLAINTEXT://0.0.0.0:{client}",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "TC-0:PLAINTEXT," + JAVA["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"],
        },
        extra={"extra": "kafka:{extra}"},
    ),
    "java, the deprecated class, ZooKeeper": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{EXPORT}{NO_ENSURE}{zookeeper('/tmp/zookeeper.properties')}/etc/confluent/docker/run \n",
        {**OLD_JAVA, "KAFKA_LISTENERS": TWO, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        ready=OLD_READY,
        entry_point=("sh",),
    ),
    "java, the deprecated class, KRaft": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{EXPORT}{NO_ENSURE}{DELETE}{formatting(QUOTED_ID)}/etc/confluent/docker/run \n",
        {**JAVA, "KAFKA_BROKER_ID": "1"},
        entry_point=("sh",),
    ),
    "go": Kit(
        "/usr/sbin/testcontainers_start.sh",
        f"#!/bin/bash\nsource /etc/confluent/docker/bash-config\n{EXPORT}echo Starting Kafka KRaft mode\n{DELETE}"
        f"{formatting(RANDOM_ID)}echo '' > /etc/confluent/docker/ensure\n"
        "/etc/confluent/docker/configure\n/etc/confluent/docker/launch",
        {
            **SHARED,
            **TXN_LOG,
            **KRAFT,
            "KAFKA_BROKER_ID": "1",
            "KAFKA_LISTENERS": THREE,
            "KAFKA_REST_BOOTSTRAP_SERVERS": THREE,
            "KAFKA_CONTROLLER_QUORUM_VOTERS": VOTERS,
        },
        command="while [ ! -f {path} ]; do sleep 0.1; done; bash {path}",
        entry_point=("sh",),
        mode=0o755,
    ),
    "python, KRaft": Kit(
        "/tc-start.sh",
        f"#!/bin/bash\n\n{DELETE}{formatting('MkU3OEVBNTcwNTJENDM2Qk')}\n{PYTHON_START}",
        {
            **SHARED,
            **KRAFT,
            "KAFKA_BROKER_ID": "1",
            "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
            "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000",
            "KAFKA_LISTENERS": THREE,
            "KAFKA_CONTROLLER_QUORUM_VOTERS": VOTERS,
        },
        ready=PYTHON_READY,
        command="while [ ! -f {path} ]; do sleep 0.1; done; sh {path}",
        mode=0o644,
        seconds=30,
    ),
    "python, KRaft, an id of the user's": Kit(
        "/tc-start.sh",
        f"#!/bin/bash\n\n{DELETE}{formatting('q/8Zk+GPTkGc0GJ0J3S9Lw==')}\n{PYTHON_START}",
        {**JAVA, "CLUSTER_ID": "q/8Zk+GPTkGc0GJ0J3S9Lw=="},
        ready=PYTHON_READY,
        command="while [ ! -f {path} ]; do sleep 0.1; done; sh {path}",
        mode=0o644,
        seconds=30,
    ),
    "python, ZooKeeper": Kit(
        "/tc-start.sh",
        f"#!/bin/bash\n\n{zookeeper('zookeeper.properties')}export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'\n\n{PYTHON_START}",
        {
            **SHARED,
            "KAFKA_BROKER_ID": "1",
            "KAFKA_LISTENERS": TWO,
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        },
        ready=OLD_READY,
        command="while [ ! -f {path} ]; do sleep 0.1; done; sh {path}",
        mode=0o644,
        seconds=30,
    ),
    "node, KRaft": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{NODE_EXPORT}/etc/confluent/docker/run \n",
        {
            **NODE,
            **KRAFT,
            "CLUSTER_ID": CLUSTER_ID,
            "KAFKA_LISTENERS": THREE,
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": SHARED["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"],
            "KAFKA_CONTROLLER_QUORUM_VOTERS": VOTERS,
        },
        command=NODE_COMMAND,
        entry_point=("sh",),
    ),
    "node, ZooKeeper": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{NODE_EXPORT}{NO_ENSURE}{zookeeper('zookeeper.properties')}/etc/confluent/docker/run \n",
        {**NODE, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        command=NODE_COMMAND,
        entry_point=("sh",),
    ),
    ".NET, apache/kafka": Kit(
        "/testcontainers.sh", f"#!/bin/bash\n{DOTNET_EXPORT}exec /etc/kafka/docker/run\n", DOTNET, entry_point=("/bin/sh",), mode=0o755
    ),
    ".NET, cp-kafka": Kit(
        "/testcontainers.sh", f"#!/bin/bash\n{DOTNET_EXPORT}exec /etc/confluent/docker/run\n", DOTNET, entry_point=("/bin/sh",), mode=0o755
    ),
    ".NET, cp-kafka, ZooKeeper": Kit(
        "/testcontainers.sh",
        f"#!/bin/bash\n{NO_ENSURE}{zookeeper('zookeeper.properties')}{DOTNET_EXPORT}exec /etc/confluent/docker/run\n",
        {**DOTNET, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"},
        ready=OLD_READY,
        entry_point=("/bin/sh",),
        mode=0o755,
    ),
    "Quarkus, a shared network": Kit(
        JAVA_PATH,
        f"#!/bin/bash\n{EXPORT}/etc/kafka/docker/run \n",
        {
            **JAVA,
            "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:{client},BROKER://localhost:{broker}",
        },
    ),
}


@pytest.fixture
def ports() -> dict[str, str]:
    found: dict[str, str] = {}
    while len(found) < 4:
        port = str(free_port())
        if port not in found.values():
            found[("client", "broker", "controller", "extra")[len(found)]] = port
    return found


Fill = Callable[[str], str]


@pytest.fixture
def fill(ports: dict[str, str]) -> Fill:
    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: {**ports, "host": BROKER_HOST}[found[1]], text)

    return filled


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path / "image")


def started(kit: Kit, image: Image, fill: Fill) -> Iterator[Container]:
    """The container as the kit makes it, waiting for its script; then the script; then the kit's line."""
    command = kit.command.replace("{path}", kit.path)
    shell = () if kit.entry_point else ("sh",)
    environment = {name: fill(text) for name, text in kit.environment.items()}
    with Container(image, [*shell, "-c", command], environment, kit.entry_point) as container:
        image.copy(kit.path, fill(kit.script), kit.mode)
        container.wait_for(kit.ready, kit.seconds)
        yield container


@pytest.mark.parametrize("name", KITS)
def test_a_kit_starts_the_image(name: str, image: Image, fill: Fill, ports: dict[str, str]) -> None:
    kit = KITS[name]
    for container in started(kit, image, fill):
        assert len(re.findall(kit.ready, container.log)) == 1
        for port, told in {"client": "localhost:{client}", **kit.extra}.items():
            metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports[port]}"}).list_topics(timeout=20)
            assert [(broker.id, f"{broker.host}:{broker.port}") for broker in metadata.brokers.values()] == [(1, fill(told))]
        brokers = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports['broker']}"}).list_topics(timeout=20).brokers
        assert brokers[1].port == int(ports["broker"])
        if "hostname -i" not in kit.script:
            assert brokers[1].host == BROKER_HOST
        if cluster := kit.environment.get("CLUSTER_ID"):
            assert metadata.cluster_id == cluster
        round_trip(f"localhost:{ports['client']}")
        asked = container.execute(image.health)
        assert asked.returncode == 0, asked.stderr


def round_trip(bootstrap: str) -> None:
    """A record committed in a transaction comes back to a member of a group."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "kit"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"paid")
    producer.commit_transaction(20)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "kit", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        message = consumer.poll(20)
        assert message is not None
        assert (message.error(), message.value()) == (None, b"paid")
    finally:
        consumer.close()
