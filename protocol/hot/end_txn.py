"""EndTxn (26), v0-5, by hand.

Request: transactional_id, producer_id, producer_epoch, committed. Answer: throttle_time_ms, error_code, from v5 on the pair to use next.
v3 is the first flexible version.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from oncelog.protocol.hot.fields import read_string
from oncelog.protocol.primitives import MalformedRequest

_FIRST_FLEXIBLE: Final = 3
_FIRST_WITH_PAIR: Final = 5

_FIELDS = Struct(">qh?")  # behind the id
_ANSWER = Struct(">iiih")  # length, correlation id, throttle_time_ms, error_code
_ANSWER_V3 = Struct(">iixihx")  # … without tags
_ANSWER_V5 = Struct(">iixihqhx")


def read_end_txn(version: int, frame: memoryview, begin: int) -> tuple[str, int, int, bool] | None:
    """(transactional id, producer id, epoch, committed) of the request whose body begins at `begin`; None: `messages` has to read it."""
    flexible = version >= _FIRST_FLEXIBLE
    try:
        id, pos = read_string(frame, begin, flexible)
        producer_id, epoch, committed = _FIELDS.unpack_from(frame, pos)
        if flexible and frame[pos + _FIELDS.size]:  # tags
            return None
    except (IndexError, error, MalformedRequest):
        return None
    return id, producer_id, epoch, committed


def end_txn_answer(version: int, correlation_id: int, error_code: int, producer_id: int, producer_epoch: int) -> bytes:
    """The whole answer, its length in front."""
    if version >= _FIRST_WITH_PAIR:
        return _ANSWER_V5.pack(_ANSWER_V5.size - 4, correlation_id, 0, error_code, producer_id, producer_epoch)
    layout = _ANSWER_V3 if version >= _FIRST_FLEXIBLE else _ANSWER
    return layout.pack(layout.size - 4, correlation_id, 0, error_code)
