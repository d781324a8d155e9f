"""The inspector's page in a real Chromium, over our broker and over a real Apache Kafka; `npm ci` fetches what drives it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from support.process import BrokerProcess, wait_until
from support.programs import facts, output

FOLDER = Path(__file__).parent / "browser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<img src=x onerror=alert(1)>"
VIEWS = ("#/stuck", "#/transactions", "#/partitions", "#/groups", "#/fencings", "#/lint")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js and npm"),
]
Browser = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def browser() -> Browser:
    if not (FOLDER / "node_modules" / "playwright-core").exists():
        output(["npm", "ci", "--no-audit", "--no-fund"], FOLDER)

    def run(scenario: str, url: str, *arguments: str) -> dict[str, Any]:
        found = facts(["node", "page.js", scenario, str(CHROMIUM), url, *arguments], FOLDER)
        assert found.pop("trouble") == []
        return found

    return run


@pytest.fixture
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a broker of the test's own, or of the one that is the referee."""
    given = request.config.getoption("--bootstrap")
    if given:
        yield given
        return
    process = BrokerProcess(tmp_path / "data", {"transaction.max.timeout.ms": "900000"})
    process.arguments = ("--control", "0")
    with process:
        process_of[process.bootstrap] = process
        yield process.bootstrap


process_of: dict[str, BrokerProcess] = {}


@pytest.fixture
def page(broker: str, tmp_path: Path) -> Iterator[str]:
    """The page's address: of the broker itself, or of a console beside a Kafka that is not ours."""
    own = process_of.get(broker)
    if own is not None:
        yield re.findall(r"^Console: (\S+)$", own.text(), re.MULTILINE)[-1]
        return
    log = tmp_path / "console.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", "oncelog.broker", "console", "--bootstrap", broker, "--port", "0"], stdout=out, stderr=out
        ) as console,
    ):
        try:
            yield wait_until(lambda: re.findall(r"(http://\S+\?token=\S+)", log.read_text()), what="the console's address")[-1]
        finally:
            console.terminate()


def hang(bootstrap: str, topic: str, transactional_id: str) -> Producer:
    """A transaction that is left open over a topic with a consumer that waits behind it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, 1)]).values():
        made.result()
    settings = {
        "bootstrap.servers": bootstrap,
        "transactional.id": transactional_id,
        "client.id": "checkout",
        "transaction.timeout.ms": 600_000,
    }
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, EVIL.encode(), EVIL.encode())
    producer.commit_transaction(30)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"{topic}-readers", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    message = consumer.poll(30)
    assert message is not None
    assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()
    producer.begin_transaction()
    producer.produce(topic, b"held back", b"42")
    producer.flush(30)
    return producer


def test_a_stuck_consumer_is_explained_and_released(browser: Browser, broker: str, page: str, name: str) -> None:
    id = f"{name}-orders-1"
    producer = hang(broker, name, id)
    found = browser("release", page, id)
    assert f"{name}-0" in found["told"]
    assert id in found["told"]
    assert f"{name}-readers" in found["told"]
    assert found["left"] == 1, "nothing is aborted unless it is confirmed"
    assert id in found["said"]
    assert "token=" not in found["url"]
    assert "prepare abort" in found["life"]
    with pytest.raises(Exception, match=r"FENCED|fenced|INVALID|epoch"):
        producer.commit_transaction(30)


def test_nothing_overlaps_and_nothing_is_cut(browser: Browser, broker: str, page: str, name: str, tmp_path: Path) -> None:
    producers = [hang(broker, f"{name}-{'a-rather-long-name-' * 4}{number}", f"{name}-{EVIL}-{number}") for number in range(2)]
    topic = f"{name}-{'a-rather-long-name-' * 4}0"
    deeper = (
        f"#/partitions/{topic}/0",
        f"#/groups/{topic}-readers",
        f"#/transactions/{name}-{EVIL}-0".replace("<", "%3C").replace(">", "%3E"),
    )
    found = browser("look", page, str(tmp_path), *VIEWS, *deeper)
    assert json.dumps(found["wrong"]) == "{}"
    assert len(list(tmp_path.glob("*.png"))) == 3 * len(VIEWS + deeper)
    assert producers


def test_it_is_used_by_keyboard_alone(browser: Browser, broker: str, page: str, name: str) -> None:
    producer = hang(broker, name, f"{name}-1")
    found = browser("keyboard", page)
    assert found["reached"][0] == "skip"
    assert found["reached"][-1] == "abort"
    assert found["focused"] == "cancel", "Enter twice aborts nothing"
    assert producer
