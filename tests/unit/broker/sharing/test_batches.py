"""Acknowledgements that are wrong whatever the records are."""

from __future__ import annotations

import pytest
from oncelog.broker.sharing.batches import has_renewals, well_formed
from oncelog.broker.sharing.partition import AcknowledgedBatch


@pytest.mark.parametrize(
    "batches",
    [
        [(3, 2, [1])],
        [(-2, 2, [1])],
        [(0, 2, [])],
        [(0, 2, [1, 1])],
        [(0, 2, [-1])],
        [(0, 2, [4])],
        [(0, 2, [1, 2, 9])],
        [(0, 2, [1]), (1, 4, [1])],
    ],
)
def test_refused(batches: list[tuple[int, int, list[int]]]) -> None:
    assert not well_formed([AcknowledgedBatch(*batch) for batch in batches], renews=False)


def test_fine() -> None:
    batches = [AcknowledgedBatch(0, 2, [1]), AcknowledgedBatch(3, 5, [0, 2, 3]), AcknowledgedBatch(9, 9, [1])]
    assert well_formed(batches, renews=False)
    assert well_formed([], renews=False)
    renewal = [AcknowledgedBatch(0, 1, [4, 1])]
    assert well_formed(renewal, renews=True)
    assert not well_formed([AcknowledgedBatch(0, 1, [5, 1])], renews=True)
    assert (has_renewals(batches), has_renewals(renewal)) == (False, True)
