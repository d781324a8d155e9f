"""The examples' own tests, run as their README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka.admin import AdminClient
from support.control_client import ask
from support.image import Container, Image
from support.process import BrokerProcess, free_port

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("folder", ["payments"])
def test_an_example_passes_its_own_tests(folder: str) -> None:
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:oncelog",
        "-p",
        "oncelog.broker.pytest_plugin",
        "-c",
        os.devnull,
        "--rootdir",
        str(EXAMPLES),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    command = [sys.executable, "-m", "pytest", *options, folder]
    done = subprocess.run(command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=110, check=False)
    wanted = (EXAMPLES / folder / f"test_{folder}.py").read_text().count("\ndef test_")
    assert re.search(rf"= {wanted} passed in", done.stdout), done.stdout + done.stderr


@pytest.fixture
def over_http(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Run the tests of an example in another language against a broker with a control port, in a copy of the examples."""
    copy = shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("target", "__pycache__"))
    process = BrokerProcess(tmp_path / "data")
    process.arguments = ("--control", "0")

    def run(folder: str, *command: str) -> str:
        control = re.findall(r"^Control port: (\S+)$", process.text(), re.MULTILINE)[-1]
        environment = {**os.environ, "ONCELOG_BOOTSTRAP": process.bootstrap, "ONCELOG_CONTROL": control}
        done = subprocess.run(command, cwd=copy / folder, env=environment, capture_output=True, text=True, timeout=280, check=False)
        told = done.stdout + done.stderr
        assert done.returncode == 0, told[-6000:]
        return told

    with process:
        yield run


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Java and Maven")
def test_the_example_in_java(over_http: Callable[..., str]) -> None:
    told = over_http("payments-java", "mvn", "--batch-mode", "test")
    wanted = (EXAMPLES / "payments-java/src/test/java/payments/PaymentsTest.java").read_text().count("@Test")
    assert f"Tests run: {wanted}, Failures: 0, Errors: 0, Skipped: 0" in told


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_the_example_in_go(over_http: Callable[..., str]) -> None:
    told = over_http("payments-go", "go", "test", "-v", "-count=1", "./...")
    wanted = (EXAMPLES / "payments-go/payments_test.go").read_text().count("\nfunc Test")
    assert told.count("--- PASS") == wanted


@pytest.mark.parametrize(
    "test",
    ["payments/test_payments.py", "payments-java/src/test/java/payments/PaymentsTest.java", "payments-go/payments_test.go"],
)
def test_one_rule_text_is_for_all_languages(test: str) -> None:
    text = (EXAMPLES / test).read_text()
    assert text.count('"lost-answer.json"') == 1
    assert "EndTxn" not in text


def test_the_service_of_a_workflow(tmp_path: Path) -> None:
    """What a runner does with it: the container with these variables, its health, and the steps' variables from outside."""
    job = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())["jobs"]["test"]
    service, outside = job["services"]["kafka"], job["env"]
    assert service["image"] in (ROOT / "container/README.md").read_text()
    ports = {pair.split(":")[1]: str(free_port()) for pair in service["ports"]}

    def moved(variables: dict[str, str]) -> dict[str, str]:
        """With other ports than the usual ones, which may be taken here."""
        return {name: re.sub(r":(\d+)$", lambda found: f":{ports[found[1]]}", value) for name, value in variables.items()}

    given, seen = moved(service["env"]), moved(outside)
    given["KAFKA_LISTENERS"] = f"PLAINTEXT://127.0.0.1:{ports['9092']}"
    given["KAFKA_CONTROL_LISTENER"] = given["KAFKA_CONTROL_LISTENER"].replace("0.0.0.0", "127.0.0.1")
    image = Image(tmp_path / "image")
    with Container(image, [], given) as container:
        container.wait_for("Kafka Server started", 20)
        assert container.execute(image.health).returncode == 0
        metadata = AdminClient({"bootstrap.servers": seen["ONCELOG_BOOTSTRAP"]}).list_topics(timeout=20)
        assert [f"{each.host}:{each.port}" for each in metadata.brokers.values()] == [seen["ONCELOG_BOOTSTRAP"]]
        reset = ask(seen["ONCELOG_CONTROL"], "POST", "/v1/reset", {}, Authorization=f"Bearer {seen['ONCELOG_TOKEN']}")
        assert (reset.status, reset.body) == (200, {"reset": True})
        assert ask(seen["ONCELOG_CONTROL"], "POST", "/v1/reset", {}).status == 401


def test_the_readme_names_every_example() -> None:
    folders = [path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [name for name in folders if f"[`{name}/`]" not in (EXAMPLES / "README.md").read_text()] == []
