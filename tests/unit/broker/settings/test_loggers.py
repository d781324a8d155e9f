"""Levels of loggers: told, set, returned to the parent's, and refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from oncelog.broker.settings.catalogue import ConfigSource
from oncelog.broker.settings.changes import APPEND, DELETE, SET, SUBTRACT, Change
from oncelog.broker.settings.loggers import alter_loggers, describe_loggers
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
OURS = "oncelog.tests.loggers"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    names = (None, OURS)
    before = [logging.getLogger(name).level for name in names]
    yield logging.getLogger(OURS)
    for name, level in zip(names, before, strict=True):
        logging.getLogger(name).setLevel(level)


def levels() -> dict[str, str | None]:
    return {entry.name: entry.value for entry in describe_loggers()}


def test_root_and_our_own_are_told() -> None:
    logging.getLogger("someone.else")
    logging.getLogger("oncelogger")
    names = list(levels())
    assert names[0] == "root"
    assert OURS in names
    assert {"someone.else", "oncelogger"} & set(names) == set()
    assert {(entry.source, entry.type, entry.read_only, entry.sensitive) for entry in describe_loggers()} == {
        (ConfigSource.DYNAMIC_BROKER_LOGGER, 0, False, False)
    }


@pytest.mark.parametrize(
    ("given", "number", "told"),
    [
        ("TRACE", logging.DEBUG, "DEBUG"),
        ("DEBUG", logging.DEBUG, "DEBUG"),
        ("INFO", logging.INFO, "INFO"),
        ("WARN", logging.WARNING, "WARN"),
        ("ERROR", logging.ERROR, "ERROR"),
        ("FATAL", logging.CRITICAL, "FATAL"),
    ],
)
def test_kafkas_levels(logger: logging.Logger, given: str, number: int, told: str) -> None:
    alter_loggers([Change(OURS, SET, given)])
    assert (logger.level, levels()[OURS]) == (number, told)


def test_deleted_it_has_that_of_its_parent(logger: logging.Logger) -> None:
    alter_loggers([Change("root", SET, "FATAL"), Change(OURS, SET, "DEBUG")])
    alter_loggers([Change(OURS, DELETE, None)])
    assert (logger.level, logging.getLogger().level) == (logging.NOTSET, logging.CRITICAL)


@pytest.mark.parametrize(
    ("change", "code", "why"),
    [
        (Change(OURS, APPEND, "INFO"), ErrorCode.INVALID_REQUEST, "APPEND operation is not allowed"),
        (Change(OURS, SUBTRACT, "INFO"), ErrorCode.INVALID_REQUEST, "SUBTRACT operation is not allowed"),
        (Change("no.such", SET, "INFO"), ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        (Change("no.such", DELETE, None), ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        (Change("", SET, "INFO"), ErrorCode.INVALID_CONFIG, "does not exist"),
        (Change("root", DELETE, None), ErrorCode.INVALID_REQUEST, "root logger is not allowed"),
        (Change(OURS, SET, "info"), ErrorCode.INVALID_CONFIG, "valid levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
        (Change(OURS, SET, None), ErrorCode.INVALID_CONFIG, "valid levels are"),
    ],
    ids=str,
)
def test_one_that_is_wrong_changes_none(logger: logging.Logger, change: Change, code: ErrorCode, why: str) -> None:
    before = logger.level
    with pytest.raises(KafkaError, match=why) as refused:
        alter_loggers([Change("oncelog", SET, "ERROR"), Change(OURS, SET, "FATAL"), change])
    assert refused.value.code is code
    assert logger.level == before


def test_only_validated(logger: logging.Logger) -> None:
    before = logger.level
    alter_loggers([Change(OURS, SET, "FATAL")], validate_only=True)
    assert logger.level == before
    with pytest.raises(KafkaError):
        alter_loggers([Change(OURS, SET, "LOUD")], validate_only=True)
