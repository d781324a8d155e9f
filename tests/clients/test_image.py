"""The image as users start it, and the commands of Kafka's that their health checks run inside, without an engine."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from support.certificates import Authority, openssl
from support.image import Container, Image
from support.process import free_port

SERVES = "Kafka Server started"


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path / "image")


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def container(image: Image, port: int) -> Iterator[Container]:
    """The image with no command, on a port of the test's."""
    with Container(image, [], {"KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}"}) as running:
        running.wait_for(SERVES, 20)
        yield running


@pytest.mark.parametrize("command", [[], ["serve"], ["serve", "--fast"], ["--fast"], ["oncelog", "serve"]], ids=" ".join)
def test_the_broker_is_what_starts_and_stops_when_told(image: Image, command: list[str]) -> None:
    with Container(image, command, {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0"}) as container:
        container.wait_for(SERVES, 20)
        assert container.stop() == 0
        assert "stopped" in container.log
    assert (image.path("/var/lib/oncelog") / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(("command", "status", "out"), [(["sh", "-c", "echo $0-$1; exit 7", "a", "b c"], 7, "a-b c\n"), (["true"], 0, "")])
def test_any_other_command_is_run_as_it_is(image: Image, command: list[str], status: int, out: str) -> None:
    ended = image.run([str(image.path("/usr/local/bin/oncelog-entry")), *command])
    assert (ended.returncode, ended.stdout) == (status, out)


@pytest.mark.parametrize("script", ["/etc/kafka/docker/run", "/etc/confluent/docker/run", "/etc/confluent/docker/launch"])
def test_the_signal_reaches_a_broker_that_a_start_script_became(image: Image, script: str) -> None:
    """`exec` all the way: there is no shell that would keep SIGTERM to itself."""
    with Container(image, [str(image.path(script))], {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0"}) as container:
        container.wait_for(SERVES, 20)
        assert container.stop() == 0


def test_a_second_signal_ends_at_once(container: Container) -> None:
    container.signal(signal.SIGTERM)
    container.signal(signal.SIGTERM)
    assert container.wait(10) in (0, 128 + signal.SIGTERM)


def test_topics_are_there_with_the_first_line(image: Image, port: int) -> None:
    """Made before anybody is told that it serves; another start finds them, and says where they differ."""
    given = {"KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}", "KAFKA_CREATE_TOPICS": "orders:3:1,customers:1:1:compact"}
    with Container(image, ["serve", "--topic", "audit:2:retention.ms=60000,cleanup.policy=compact,delete"], given) as container:
        container.wait_for(SERVES, 20)
        topics = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(timeout=20).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 3, "customers": 1, "audit": 2}
        assert container.stop() == 0
    with Container(image, ["serve", "--topic=audit:1"], given) as container:
        container.wait_for(rf"(?s)audit has 2 partitions, --topic asks for 1: left as it is.*{SERVES}", 20)
        assert container.stop() == 0


@pytest.mark.parametrize(
    ("command", "variable", "said"),
    [
        (["serve", "--topic", "orders"], "", "oncelog: --topic 'orders' is not NAME:PARTITIONS"),
        (["serve", "--topic", "orders:1:retention=5"], "", "oncelog: --topic: topic orders: Unknown topic config name: retention"),
        ([], "orders:3", "oncelog: KAFKA_CREATE_TOPICS 'orders:3' is not NAME:PARTITIONS:REPLICAS"),
    ],
)
def test_topics_that_cannot_be_made_end_the_start(image: Image, command: list[str], variable: str, said: str) -> None:
    entry = str(image.path("/usr/local/bin/oncelog-entry"))
    ended = image.run([entry, *command], {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_CREATE_TOPICS": variable})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [line for line in ended.stderr.splitlines() if line.startswith(said)], ended.stderr
    assert "Traceback" not in ended.stderr


HEALTH = (
    "kafka-broker-api-versions --bootstrap-server localhost:{port}",
    "kafka-broker-api-versions.sh --bootstrap-server=localhost:{port}",
    "kafka-topics.sh --bootstrap-server localhost:{port} --list",
    "kafka-topics --list --bootstrap-server=localhost:{port}",
    "/opt/kafka/bin/kafka-topics.sh --describe --bootstrap-server localhost:{port}",
    "kafka-cluster cluster-id --bootstrap-server=localhost:{port}",
    "/opt/kafka/bin/kafka-cluster.sh cluster-id --bootstrap-server localhost:{port}",
    "bash -c '</dev/tcp/localhost/{port}'",
)


@pytest.mark.parametrize("check", HEALTH)
def test_health_checks_of_users(container: Container, port: int, check: str) -> None:
    """Status 0 when it serves, 1 when it does not, and a word about it."""
    well = container.execute(["sh", "-c", check.format(port=port)])
    assert well.returncode == 0, well.stderr
    assert "cluster-id" not in check or re.fullmatch(r"Cluster ID: [\w-]{22}\n", well.stdout)
    assert container.stop() == 0
    ill = container.execute(["sh", "-c", check.format(port=port)])
    assert ill.returncode == 1
    assert "Traceback" not in ill.stderr
    assert ill.stderr


@pytest.mark.parametrize(
    "listeners",
    [
        {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:{port}"},
        {"KAFKA_LISTENERS": "CONTROLLER://:9,PLAINTEXT://:{port}"},
        {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://anywhere:{port}"},
        {"KAFKA_LISTENERS": "SASL_PLAINTEXT://[::1]:{port}"},
        {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_CONTROL_LISTENER": "http://127.0.0.1:{port}"},
        {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_CONTROL_LISTENER": "http://0.0.0.0:{port}", "KAFKA_CONTROL_TOKEN": "secret"},
    ],
)
def test_the_images_health_check_follows_the_listeners(image: Image, port: int, listeners: dict[str, str]) -> None:
    given = {name: text.replace("{port}", str(port)) for name, text in listeners.items()}
    assert image.run(image.health, given).returncode == 1
    with Container(image, [], given) as container:
        container.wait_for(SERVES, 20)
        well = container.execute(image.health)
        assert (well.returncode, well.stderr) == (0, "")


@pytest.mark.skipif(openssl() is None, reason="no openssl to make certificates with")
def test_the_images_health_check_needs_no_certificate(image: Image, port: int, tmp_path: Path) -> None:
    key = Authority(tmp_path).issue("somewhere.else")
    given = {"KAFKA_LISTENERS": f"SSL://:{port}", "KAFKA_SSL_KEYSTORE_TYPE": "PEM", "KAFKA_SSL_KEYSTORE_LOCATION": str(key)}
    with Container(image, [], given) as container:
        container.wait_for(SERVES, 20)
        well = container.execute(image.health)
        assert (well.returncode, well.stderr) == (0, "")
        assert image.run(image.health, {**given, "ONCELOG_CA": str(tmp_path / "nowhere.pem")}).returncode == 2


def test_topics_by_kafkas_command(container: Container, port: int) -> None:
    def topics(line: str) -> tuple[int, str]:
        ended = container.execute(["sh", "-c", f"kafka-topics --bootstrap-server 127.0.0.1:{port} {line}"])
        assert "Traceback" not in ended.stderr
        return ended.returncode, ended.stdout

    create = "--create --topic my.topic_1 --partitions 3 --replication-factor 1 --config cleanup.policy=compact --config retention.ms=5"
    assert topics(create)[0] == 0
    assert topics(create)[0] == 1
    assert topics(f"{create} --if-not-exists")[0] == 0
    assert topics("--create --topic=other")[0] == 0
    assert topics("--list") == (0, "my.topic_1\nother\n")
    metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(timeout=20).topics
    assert (len(metadata["my.topic_1"].partitions), len(metadata["other"].partitions)) == (3, 1)
    status, described = topics("--describe --topic my.topic_1")
    assert status == 0
    assert "cleanup.policy=compact" in described
    assert topics("--delete --topic other") == (0, "deleted other\n")
    assert topics("--delete --topic other --if-exists")[0] == 0
    assert topics("--list") == (0, "my.topic_1\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kafka-topics --list --zookeeper zookeeper:2181", "kafka-topics: --zookeeper is not known here"),
        ("kafka-topics --list --bootstrap-server", "kafka-topics: --bootstrap-server needs a value"),
        ("kafka-topics --create --bootstrap-server 127.0.0.1:1", "kafka-topics: --create needs --topic"),
        ("kafka-topics", "kafka-topics: name one of --list"),
        ("kafka-broker-api-versions", "takes --bootstrap-server"),
        ("kafka-cluster unregister", "takes cluster-id"),
        ("kafka-storage format -t x --add-scram SCRAM-SHA-256=[name=a,password=b]", "--add-scram makes no user"),
        ("kafka-storage", "takes format or random-uuid"),
    ],
)
def test_what_the_commands_do_not_know_is_said(image: Image, line: str, said: str) -> None:
    ended = image.run(["sh", "-c", line])
    assert (ended.returncode, ended.stdout) == (1, "")
    assert said in ended.stderr


def test_ids_are_made_up_as_kafka_does(image: Image) -> None:
    made = [image.run(["kafka-storage.sh", "random-uuid"]).stdout for _ in range(20)]
    assert len(set(made)) == 20
    assert all(re.fullmatch(r"[\w-]{22}\n", one) and not one.startswith("-") for one in made)


def test_every_command_is_there_with_and_without_its_ending(image: Image) -> None:
    tools = sorted(path.name for path in image.path("/opt/kafka/bin").iterdir())
    assert len(tools) >= 5
    for tool in tools:
        plain = image.path("/usr/local/bin") / tool.removesuffix(".sh")
        assert plain.resolve() == image.path("/opt/kafka/bin") / tool
        assert plain.stat().st_mode & 0o111 == 0o111
