"""One change of a setting after the other: what is refused before anything is done, and what comes of the rest."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.changes import APPEND, DELETE, SET, SUBTRACT, Change, apply_changes, check_keys, check_operations, check_values
from oncelog.protocol.config_def import ConfigType, Option
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
OPTIONS = {
    "n": Option("", "n", ConfigType.INT, 1, "A number."),
    "l": Option("", "l", ConfigType.LIST, (), "A list."),
}
TOPIC, BROKER = 2, 4


def applied(own: dict[str, str], *changes: Change, fallback: str = "") -> dict[str, str]:
    return apply_changes(own, list(changes), OPTIONS, lambda _name: fallback)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([Change("a", SET, "1"), Change("a", DELETE, None)], "Error due to duplicate config keys"),
        ([Change("a", SET, None)], "Null value not supported for : a"),
        ([Change("a", APPEND, None), Change("b", SET, "1"), Change("c", SUBTRACT, None)], "Null value not supported for : a,c"),
        ([Change("a", DELETE, None), Change("b", SET, "")], None),
        ([], None),
    ],
    ids=str,
)
def test_what_no_resource_may_ask(changes: list[Change], why: str | None) -> None:
    if why is None:
        check_keys(changes)
        return
    with pytest.raises(KafkaError) as refused:
        check_keys(changes)
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, why)


@pytest.mark.parametrize(
    ("kind", "operation", "code"),
    [
        (0, SET, ErrorCode.INVALID_REQUEST),
        (3, SET, ErrorCode.INVALID_REQUEST),
        (BROKER, 4, ErrorCode.INVALID_REQUEST),
        (TOPIC, 4, ErrorCode.UNKNOWN_SERVER_ERROR),
        (TOPIC, -1, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_unknown_kinds_and_operations(kind: int, operation: int, code: ErrorCode) -> None:
    for known in (SET, DELETE, APPEND, SUBTRACT):
        check_operations(TOPIC, [Change("a", known, "1")])
    with pytest.raises(KafkaError) as refused:
        check_operations(kind, [Change("a", SET, "1"), Change("a", operation, "1")])
    assert refused.value.code is code


def test_set_and_delete() -> None:
    own = {"n": "1", "x": "y"}
    assert applied(own, Change("n", SET, "2"), Change("x", DELETE, None), Change("z", DELETE, None)) == {"n": "2"}
    assert applied(own, Change("n", SET, None)) == {"n": "", "x": "y"}
    assert own == {"n": "1", "x": "y"}


@pytest.mark.parametrize(
    ("own", "operation", "value", "after"),
    [
        ("a,b", APPEND, "c", "a,b,c"),
        ("a,b", APPEND, "b, c ,", "a,b,c"),  # what is there is not there twice
        (" a , b ", APPEND, "", "a,b"),
        ("a,b,c", SUBTRACT, "b", "a,c"),
        ("a,b", SUBTRACT, "x", "a,b"),
        ("a", SUBTRACT, "a", ""),
        (None, APPEND, "c", "f,g,c"),
        (None, SUBTRACT, "f", "g"),
    ],
)
def test_lists_grow_and_shrink(own: str | None, operation: int, value: str, after: str) -> None:
    before = {} if own is None else {"l": own}
    assert applied(before, Change("l", operation, value), fallback="f,g") == {"l": after}


@pytest.mark.parametrize(("operation", "word"), [(APPEND, "APPEND"), (SUBTRACT, "SUBTRACT")])
@pytest.mark.parametrize("name", ["n", "unknown"])
def test_only_lists_do(operation: int, word: str, name: str) -> None:
    with pytest.raises(KafkaError) as refused:
        applied({}, Change(name, operation, "1"))
    assert (refused.value.code, refused.value.message) == (
        ErrorCode.INVALID_CONFIG,
        f"Can't {word} to key {name} because its type is not LIST.",
    )


def test_names_and_values() -> None:
    check_values({"n": "5", "l": "a,b"}, OPTIONS, "topic")
    for values, why in (({"n": "5", "m": "1"}, "Unknown topic config name: m"), ({"n": "x"}, "n")):
        with pytest.raises(KafkaError, match=why) as refused:
            check_values(values, OPTIONS, "topic")
        assert refused.value.code is ErrorCode.INVALID_CONFIG
