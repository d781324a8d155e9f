"""Numbers on the command line, with the range that a request can carry."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, validators

MAX_INT16, MAX_INT32, MAX_INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
A_DAY_S = 86_400

Int16 = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=MAX_INT16))]
Int32 = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=MAX_INT32))]
Int64 = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=MAX_INT64))]
SignedInt64 = Annotated[int, Parameter(validator=validators.Number(gte=-MAX_INT64, lte=MAX_INT64))]
Int16OrDefault = Annotated[int, Parameter(validator=validators.Number(gte=-1, lte=MAX_INT16))]
"""-1 leaves it to the broker"""
Int32OrDefault = Annotated[int, Parameter(validator=validators.Number(gte=-1, lte=MAX_INT32))]
Amount = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MAX_INT64))]
SecondsOrNone = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=A_DAY_S))]
Seconds = Annotated[float, Parameter(validator=validators.Number(gte=0.001, lte=A_DAY_S))]


def whole_number(text: str, most: int = MAX_INT64) -> int | None:
    """The number from 0 to `most` that `text` is in plain digits; None if it is something else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most))):
        return None
    return number if (number := int(text)) <= most else None
