"""How often each API answered each error: every code within an answer counts, as one request may name many partitions."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

_Plan: TypeAlias = "tuple[tuple[str, ...], tuple[tuple[str, _Plan], ...]]"  # fields that are codes; fields that hold messages with some


class ErrorCounts:
    """`by`: (api key, error code); success is not counted. As many entries as there are codes of APIs, whatever clients send."""

    __slots__ = ("by",)

    def __init__(self) -> None:
        self.by: Counter[tuple[int, int]] = Counter()

    def add(self, key: int, code: int) -> None:
        """One error, of an answer that was packed by hand."""
        self.by[key, code] += 1

    def of(self, key: int, answer: Any) -> None:
        """Those within a message."""
        kind = type(answer)
        plan = _plans.get(kind)
        if plan is None:
            plan = _plans[kind] = _plan(kind._struct)
        self._count(key, answer, plan)

    def _count(self, key: int, message: Any, plan: _Plan) -> None:
        codes, inner = plan
        for name in codes:
            code = getattr(message, name)
            if code:
                self.by[key, code] += 1
        for name, below in inner:
            value = getattr(message, name)
            for each in value if isinstance(value, list | tuple) else () if value is None else (value,):
                self._count(key, each, below)


def codes_in(answer: Any) -> set[int]:
    """Every error code within a message; as good as always none."""
    kind = type(answer)
    plan = _plans.get(kind)
    if plan is None:
        plan = _plans[kind] = _plan(kind._struct)
    found: set[int] = set()
    _collect(answer, plan, found)
    return found


def _collect(message: Any, plan: _Plan, found: set[int]) -> None:
    codes, inner = plan
    for name in codes:
        code = getattr(message, name)
        if code:
            found.add(code)
    for name, below in inner:
        value = getattr(message, name)
        for each in value if isinstance(value, list | tuple) else () if value is None else (value,):
            _collect(each, below, found)


_plans: dict[type, _Plan] = {}  # of answers that were given


def _plan(struct: Any) -> _Plan:
    """By a definition: Kafka's names of codes end alike."""
    codes: list[str] = []
    inner: list[tuple[str, _Plan]] = []
    for field in struct.fields.values():
        if field.is_struct() or field.is_struct_array():
            below = _plan(field.array_of if field.is_array() else field)
            if below != ((), ()):
                inner.append((field.name, below))
        elif field.name.endswith("error_code"):
            codes.append(field.name)
    return tuple(codes), tuple(inner)
