"""What of an acknowledgement can be seen to be wrong without knowing the records (`KafkaApis.validateAcknowledgementBatches`)."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.sharing.partition import REJECT, RENEW, AcknowledgedBatch


def well_formed(batches: Sequence[AcknowledgedBatch], *, renews: bool) -> bool:
    """In order, one type a batch or an offset, known types; 4 only in a request that says so."""
    highest = RENEW if renews else REJECT
    before = -1
    for first, last, types in batches:
        if first > last or first < before or not types or not 0 <= min(types) <= max(types) <= highest:
            return False
        if len(types) > 1 and len(types) != last - first + 1:
            return False
        before = last
    return True


def has_renewals(batches: Sequence[AcknowledgedBatch]) -> bool:
    """Is any offset to be held longer?"""
    return any(RENEW in batch.types for batch in batches)
