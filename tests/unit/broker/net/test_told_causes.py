"""What coordinators do by themselves, in sentences; what is remembered of it is bounded."""

from __future__ import annotations

import pytest
from oncelog.broker.net import told_causes
from oncelog.broker.net.told_causes import Cause, Causes
from oncelog.coordinator.txn.decisions import Fenced

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("why", "by", "kind", "said"),
    [
        ("InitProducerId of a new instance", "c@h", "fenced", "c at h asked for the id by InitProducerId"),
        ("InitProducerId", "@h", "fenced", "a client without a name at h asked"),
        ("open for longer than transaction.timeout.ms=5", "", "timeout", "its transaction was open for longer"),
        ("aborted by an administrator", "", "aborted", "aborted by an administrator."),
    ],
)
def test_reasons_of_the_coordinator(why: str, by: str, kind: str, said: str) -> None:
    made = Causes()
    got: list[Cause] = []
    made.listener = got.append
    made.fenced(Fenced("t", 7, 1, why, by), 2)
    assert (got[0].kind, said in got[0].sentence) == (kind, True)
    assert made.fence_of("t") is not None


def test_what_is_remembered_of_fences_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_causes, "KEPT_FENCES", 5)
    made = Causes()
    for number in range(20):
        made.fenced(Fenced(f"t{number}", 7, 1, "InitProducerId"), None)
    assert [made.fence_of(f"t{number}") is not None for number in range(20)] == [False] * 15 + [True] * 5
