"""A journal in words."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.journal.story import fenced, story

pytestmark = pytest.mark.unit
HEAD = {"begun": 1, "ended": 2, "time_ms": 3_661_007, "connection": "h:1", "client_id": "c", "version": 3}


def entry(api: str, **more: Any) -> dict[str, Any]:
    return {**HEAD, "api": api, **more}


INIT = entry("InitProducerId", transactional_id="t", producer=[-1, -1], error="NONE", answered=[7, 1])
REFUSED = entry("EndTxn", client_id=None, transactional_id="t", producer=[7, 0], committed=True, error="PRODUCER_FENCED")


def test_each_entry_is_a_line() -> None:
    batch = {"partition": "a-0", "producer": [7, 1], "sequence": [0, 4]}
    batches = [
        {**batch, "offset": 9, "error": "NONE"},
        {**batch, "producer": [-1, -1]},
        {**batch, "offset": -1, "error": "NOT_LEADER_OR_FOLLOWER"},
    ]
    lines = story(
        [
            {"start": True, "time_ms": 0},
            INIT,
            REFUSED,
            entry("Produce", transactional_id=None, acks=-1, batches=batches),
            entry("OffsetFetch", groups={"g": {"a-0": 5, "a-1": 6}, "h": {}}),
        ]
    )
    assert list(lines) == [
        "00:00:00.000  the broker starts",
        "01:01:01.007  c@h:1  InitProducerId  transactional_id=t  producer=-1/-1  error=NONE  answered=7/1",
        "01:01:01.007  -@h:1  EndTxn  transactional_id=t  producer=7/0  committed=true  error=PRODUCER_FENCED",
        "01:01:01.007  c@h:1  Produce  acks=-1  a-0 by 7/1 0-4 at 9  a-0 not answered  a-0 by 7/1 0-4 NOT_LEADER_OR_FOLLOWER",
        "01:01:01.007  c@h:1  OffsetFetch  groups=g:a-0:5+a-1:6,h:",
    ]


def test_who_was_fenced_and_by_whom() -> None:
    offsets = entry("OffsetCommit", group="g", offsets={"a-0": 1}, partitions={"a-0": "FENCED_INSTANCE_ID"})
    assert list(fenced([REFUSED, INIT, REFUSED, offsets])) == [
        "t: EndTxn of -@h:1 was refused, PRODUCER_FENCED; who came after it is not known",
        "t: EndTxn of -@h:1 was refused, PRODUCER_FENCED; c@h:1 had asked for it and got epoch 1",
        "g: OffsetCommit of c@h:1 was refused, FENCED_INSTANCE_ID; who came after it is not known",
    ]
