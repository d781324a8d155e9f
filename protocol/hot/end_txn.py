"""EndTxn (26), v3-5, by hand: the flexible versions.

Request: transactional_id, producer_id, producer_epoch, committed. Answer: throttle_time_ms, error_code, from v5 on the pair to use next.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

FIRST_WITH_PAIR: Final = 5

_FIELDS = Struct(">qh?B")  # behind the id; no tags
_ANSWER = Struct(">iixihx")  # length, correlation id, no tags, throttle_time_ms, error_code, no tags
_ANSWER_V5 = Struct(">iixihqhx")


def read_end_txn(frame: memoryview, begin: int) -> tuple[str, int, int, bool] | None:
    """(transactional id, producer id, epoch, committed) of the request whose body begins at `begin`; None: `messages` has to read it."""
    try:
        end = begin + frame[begin]
        producer_id, epoch, committed, tags = _FIELDS.unpack_from(frame, end)
    except (IndexError, error):
        return None
    if tags or not begin < end <= begin + 0x80:  # null, or a length of more than a byte
        return None
    return str(frame[begin + 1 : end], "utf-8", "replace"), producer_id, epoch, committed


def end_txn_answer(version: int, correlation_id: int, error_code: int, producer_id: int, producer_epoch: int) -> bytes:
    """The whole answer, its length in front."""
    if version >= FIRST_WITH_PAIR:
        return _ANSWER_V5.pack(_ANSWER_V5.size - 4, correlation_id, 0, error_code, producer_id, producer_epoch)
    return _ANSWER.pack(_ANSWER.size - 4, correlation_id, 0, error_code)
