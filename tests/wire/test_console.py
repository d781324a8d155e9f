"""The inspector of a Kafka over the wire: the process and its API, a stuck consumer explained and released; the same everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer
from oncelog.protocol.errors import ErrorCode
from support.console_examples import EXAMPLES, misshapen
from support.console_kit import make_stuck
from support.control_client import Answer, ask
from support.golden_storage import unpack
from support.process import wait_until
from support.txn_client import TV0, Client

pytestmark = pytest.mark.wire


class Page:
    """A console that runs."""

    def __init__(self, address: str) -> None:
        self.url, self.token = re.fullmatch(r"Console: (http://127\.0\.0\.1:\d+)/\?token=(\S+)", address.strip()).groups()  # type: ignore[union-attr]

    def get(self, path: str) -> Any:
        answer = ask(self.url, "GET", f"/api/v1/{path}", None, Authorization=f"Bearer {self.token}")
        assert answer.status == 200, answer
        return answer.body

    def abort(self, id: str, token: str | None = None) -> Answer:
        given = {"Authorization": f"Bearer {token}"} if token else {}
        return ask(self.url, "POST", f"/api/v1/transactions/{quote(id, safe='')}/abort", None, **given)


@contextmanager
def console(*arguments: str) -> Iterator[Page]:
    with subprocess.Popen([sys.executable, "-m", "oncelog.broker", "console", *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Page(process.stdout.readline())
        finally:
            process.terminate()
            assert process.wait(30) == 0


def test_a_stuck_consumer_is_explained_and_released(bootstrap: str, name: str) -> None:
    id, group = f"id <b> {name}", f"g-{name}"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"reader-{name}", "auto.offset.reset": "earliest"})
    try:
        with Client(bootstrap) as client, console("--bootstrap", bootstrap) as page:
            pair = make_stuck(client, name, id, group)
            consumer.subscribe([name])
            got = consumer.poll(30)
            assert got is not None
            assert got.value() == b"ended"

            def explained() -> list[dict[str, Any]]:
                rows = [row for row in page.get("stuck?limit=1000") if row["topic"] == name]
                return rows if len(rows) == 2 and all(row["groups"] == [f"reader-{name}"] for row in rows) else []

            rows = wait_until(explained, 60, "an explanation that names who waits")
            assert misshapen(rows, EXAMPLES["GET /api/v1/stuck"]) == []
            first = next(row for row in rows if row["partition"] == 0)
            assert (first["last_stable_offset"], first["high_watermark"], first["first_offset"]) == (4, 6, 4)
            assert (first["transactional_id"], first["state"], first["timeout_ms"]) == (id, "Ongoing", 900_000)
            assert (first["producer_id"], first["producer_epoch"], first["client_id"], first["client_host"]) == (*pair, None, None)
            assert "--start-offset 4" in first["abort"]["command"]

            pending = page.get(f"groups/{quote(group, safe='')}")
            assert misshapen(pending, EXAMPLES["GET /api/v1/groups"][0]) == []
            assert [(one["offset"], one["transactional_id"]) for each in pending["offsets"] for one in each["pending"]] == [(2, id)]

            assert page.abort(id).status == page.abort(id, "wrong").status == 401
            told = page.abort(id, page.token)
            assert (told.status, told.body["by"]) == (200, "InitProducerId")
            assert [row for row in page.get("stuck?limit=1000") if row["topic"] == name] == []
            assert client.end(TV0, id, pair, True)[0] in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
            released = consumer.poll(30)
            assert released is not None
            assert released.value() == b"behind it"
    finally:
        consumer.close()


def test_a_life_and_a_partition_from_what_the_wire_gives(bootstrap: str, name: str) -> None:
    with Client(bootstrap) as client, console("--bootstrap", bootstrap) as page:
        make_stuck(client, name, name, f"g-{name}")
        told = page.get(f"transactions/{quote(name, safe='')}/life")
        assert misshapen(told, EXAMPLES["GET /api/v1/transactions/{id}/life"]) == []
        assert {each["seen_in"] for each in told["events"]} == {"record", "marker"}
        assert [each["kind"] for each in told["events"] if each["seen_in"] == "record"] == [
            *("init", "add", "prepare_commit", "complete_commit", "add", "prepare_abort", "complete_abort", "add", "add", "offsets")
        ]
        assert [each["offset"] for each in told["events"] if each["seen_in"] == "marker"] == [1, 3]
        view = page.get(f"partitions/{name}/0")
        assert misshapen(view, EXAMPLES["GET /api/v1/partitions/{topic}/{n}"]) == []
        assert [row["outcome"] for row in view["batches"]] == ["committed", None, "aborted", None, "open", "plain"]
        assert (view["segments"], view["snapshots"], view["producers"][0]["batches"]) == (None, None, None)
        assert page.get(f"partitions/{name}/0/records?offset=4&values=1")["records"][0]["value"] == "open"
        page.abort(name, page.token)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_and_lag(bootstrap: str, name: str, protocol: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": name, "client.id": "me", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "group.protocol": protocol})
    try:
        with Client(bootstrap) as client, console("--bootstrap", bootstrap) as page:
            make_stuck(client, name, name, f"g-{name}")
            consumer.subscribe([name])
            assert consumer.poll(30) is not None
            consumer.commit(asynchronous=False)

            def seen() -> dict[str, Any] | None:
                row: dict[str, Any] = page.get(f"groups/{quote(name, safe='')}")
                return row if row["members"] and row["offsets"] and row["offsets"][0]["committed_offset"] is not None else None

            row = wait_until(seen, 60, "the group with its member and its offset")
            assert misshapen(row, EXAMPLES["GET /api/v1/groups"][0]) == []
            (member,) = row["members"]
            assert (row["type"], member["client_id"], len(member["partitions"])) == (protocol, "me", 2)
            assert row["lag_to_end"] > row["lag"]
            page.abort(name, page.token)
    finally:
        consumer.close()


def test_a_directory(tmp_path: Path) -> None:
    with console(str(unpack("killed", tmp_path))) as page:
        assert {row["transactional_id"] for row in page.get("transactions?state=Ongoing")} == {"tx-0", "tx-1", "tx-2"}
        assert page.abort("tx-0", page.token).status == 501
