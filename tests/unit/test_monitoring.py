"""The board and the alert rules name figures and labels that `/metrics` has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from oncelog.broker.testkit import Broker
from oncelog.protocol.names import TopicPartition
from support.control_client import ask
from support.txn_client import TV0, TV2, Client

pytestmark = pytest.mark.unit
FOLDER = Path(__file__).parents[2] / "container" / "monitoring"
BOARD: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]


def expressions() -> Iterator[tuple[str, str]]:
    """(expression, text with the labels it is shown with)."""
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for rule in RULES:
        yield rule["expr"], rule["annotations"]["summary"]


@pytest.fixture(scope="module")
def figures() -> dict[str, set[str]]:
    """Labels by the name of a figure, of a broker where everything happened that has a figure."""
    place = TopicPartition("a", 0)
    with Broker(control=True) as broker, Client(broker.bootstrap) as client:
        client.create("a", 1)
        pair = client.init("t")
        for number in range(250):  # of some requests the time is taken
            client.produce(TV2, "t", pair, number, place, b"x")
        client.send_offsets(TV2, "t", pair, "g", [(place, 1)])
        client.end(TV2, "t", pair, True)
        client.end(TV0, "t", pair, True)
        text = ask(broker.control_url, "GET", "/metrics").body
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(oncelog_\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


def test_every_figure_and_label_is_there(figures: dict[str, set[str]]) -> None:
    assert len(list(expressions())) > 12
    for expression, shown in expressions():
        names = re.findall(r"oncelog_\w+", expression)
        assert names
        assert [name for name in names if name not in figures] == [], expression
        grouped = {label.strip() for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(",")}
        used = grouped | set(re.findall(r"{{ ?(?:\$labels\.)?(\w+) ?}}", shown))
        assert used <= set.union(*(figures[name] for name in names)), expression


def test_the_three_that_were_asked_for() -> None:
    assert {"LastStableOffsetBehind", "HangingTransaction", "FencingStorm"} <= {rule["alert"] for rule in RULES}
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
