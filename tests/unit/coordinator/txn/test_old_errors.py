"""What old clients of TxnOffsetCommit hear."""

from __future__ import annotations

import pytest
from oncelog.coordinator.txn.old_errors import txn_offset_commit_error
from oncelog.protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "version", "expected"),
    [(120, 3, 48), (120, 4, 120), (14, 1, 15), (14, 2, 14), (13, 0, 15), (13, 3, 14), (47, 0, 47), (51, 3, 51), (0, 0, 0)],
)
def test_downgrade(code: int, version: int, expected: int) -> None:
    assert txn_offset_commit_error(ErrorCode(code), version) == expected
