"""kcat, unmodified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.programs import output

KCAT = shutil.which("kcat") or shutil.which("kafkacat")
pytestmark = pytest.mark.skipif(KCAT is None, reason="needs kcat")
Kcat = Callable[..., str]


@pytest.fixture
def kcat(bootstrap: str) -> Kcat:
    def run(*arguments: str, given: str | None = None) -> str:
        assert KCAT is not None
        return output([KCAT, "-b", bootstrap, *arguments], seconds=30, given=given)

    return run


@pytest.fixture
def topic(bootstrap: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(20)
    return name


def test_lists(kcat: Kcat, topic: str) -> None:
    listed = json.loads(kcat("-L", "-J", "-t", topic))
    assert [(entry["topic"], len(entry["partitions"])) for entry in listed["topics"]] == [(topic, 2)]
    assert topic in {entry["topic"] for entry in json.loads(kcat("-L", "-J"))["topics"]}


def test_produces_consumes_and_asks_for_offsets(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, "-p", "1", "-K:", "-z", "gzip", "-H", "h=1", given="a:one\nb:two\nc:three\n")
    assert kcat("-C", "-t", topic, "-e", "-q", "-f", "%p %o %k %s %h\n").splitlines() == [
        "1 0 a one h=1",
        "1 1 b two h=1",
        "1 2 c three h=1",
    ]
    assert kcat("-C", "-t", topic, "-p", "1", "-o", "-1", "-e", "-q") == "three\n"
    assert kcat("-Q", "-t", f"{topic}:1:1").strip() == f"{topic} [1] offset 0"


def test_group(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, given="".join(f"{n}\n" for n in range(20)))
    read = kcat("-G", topic, "-X", "auto.offset.reset=earliest", "-c", "20", "-q", topic)
    assert sorted(map(int, read.split())) == list(range(20))


def test_transaction(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, "-X", f"transactional.id={topic}", given="one\ntwo\n")
    assert sorted(kcat("-C", "-t", topic, "-e", "-q", "-X", "isolation.level=read_committed").split()) == ["one", "two"]
