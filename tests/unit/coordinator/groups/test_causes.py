"""Every refusal of a member has its sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.groups.causes import EXPLAINED, Asked, Known, why
from oncelog.protocol.errors import ErrorCode

pytestmark = pytest.mark.unit
E = ErrorCode
ASKED = Asked(api="Heartbeat", group_id="billing", member_id="m1", instance_id="i", epoch=3)
KNOWN = Known(there=True, state="Stable", epoch=5, holder="m2")


@pytest.mark.parametrize("error", sorted(EXPLAINED))
@pytest.mark.parametrize("known", [KNOWN, Known(there=False), replace(KNOWN, holder=None), replace(KNOWN, member_epoch=4)])
@pytest.mark.parametrize("asked", [ASKED, replace(ASKED, member_id="", instance_id=None, epoch=-1)])
def test_every_code(error: ErrorCode, known: Known, asked: Asked) -> None:
    sentence = why(error, asked, known)
    assert sentence.startswith("Heartbeat of member ")
    assert "billing" in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("error", "known", "said"),
    [
        (E.ILLEGAL_GENERATION, KNOWN, "generation 3, and billing has it at 5"),
        (E.STALE_MEMBER_EPOCH, replace(KNOWN, member_epoch=4), "member epoch 3, and billing has it at 4"),
        (E.FENCED_INSTANCE_ID, KNOWN, "belongs to member m2 by now"),
        (E.UNRELEASED_INSTANCE_ID, KNOWN, "which member m2 has not given up yet"),
        (E.REBALANCE_IN_PROGRESS, replace(KNOWN, state="PreparingRebalance"), "(PreparingRebalance)"),
        (E.UNKNOWN_MEMBER_ID, KNOWN, "no such member: it was silent"),
    ],
)
def test_what_is_said(error: ErrorCode, known: Known, said: str) -> None:
    assert said in why(error, ASKED, known, "it was silent")
