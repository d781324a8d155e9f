"""The log of refusals: one line a peer and reason, bounded for many, and no line that a client can write."""

from __future__ import annotations

import pytest
from oncelog.broker.net.refusals import LONGEST_TEXT, PEERS, REASONS_OF_A_PEER, REPEATED_AFTER_S, RefusalLog, quoted

pytestmark = pytest.mark.unit


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now_s = 0.0
        self.log = RefusalLog(self.lines.append, lambda: self.now_s)


def test_one_line_a_peer_and_reason_and_later_how_often() -> None:
    told = Told()
    for peer in ("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2"):
        told.log.tell("denied", peer, principal="User:bob", operation="READ", name=None)
    assert told.lines == [f"denied principal=User:bob operation=READ client=10.0.0.{n}" for n in (1, 2)]
    told.now_s += REPEATED_AFTER_S
    told.log.tell("denied", "10.0.0.2", principal="User:bob", operation="READ")
    assert told.lines[2:] == [told.lines[0] + " again=2", told.lines[1]]


def test_many_reasons_and_many_peers_are_bounded() -> None:
    told = Told()
    for n in range(10_000):
        told.log.tell("denied", "10.0.0.1", name=f"t{n}")
    assert len(told.lines) == REASONS_OF_A_PEER
    for n in range(10_000):
        told.log.tell("denied", f"peer{n}", name=f"t{n}")
    assert len(told.lines) == 2 * REASONS_OF_A_PEER + PEERS - 1
    told.now_s += REPEATED_AFTER_S
    told.log.tell("x", "y")
    assert f"turned away for other reasons client=10.0.0.1 again={10_000 - REASONS_OF_A_PEER}" in told.lines


@pytest.mark.parametrize(
    "text",
    [
        "a\nINFO all is well",
        "a client=1.2.3.4",
        'a" client="1.2.3.4',
        "\x1b[2J",
        "\u202egnp",
        "a\\",
        "",
        "=",
        "x" * 5000,
        "\x7f",
        "\u2028",
        "\ud800",
    ],
)
def test_names_of_clients_stay_inside_their_field(text: str) -> None:
    shown = quoted(text)
    assert shown.startswith('"')
    assert shown.endswith('"')
    assert shown.isprintable()
    assert len(shown) < 12 * LONGEST_TEXT
    assert '"' not in shown[1:-1].replace("\\\\", "").replace('\\"', "")


def test_plain_words_are_left_as_they_are() -> None:
    assert quoted("User:CN.alice-1@x/y*") == "User:CN.alice-1@x/y*"
    assert quoted("flüge") == '"flüge"'
