"""Levels of the broker's loggers, read and altered as settings of the resource BROKER_LOGGER (KIP-412)."""

from __future__ import annotations

import logging

from oncelog.broker.settings.catalogue import ConfigSource
from oncelog.broker.settings.changes import APPEND, DELETE, SUBTRACT, Change
from oncelog.broker.settings.entries import ConfigEntry
from oncelog.protocol.errors import ErrorCode, KafkaError

LOG_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_LEVEL_NAMES = {logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN", logging.ERROR: "ERROR", logging.CRITICAL: "FATAL"}


def describe_loggers() -> list[ConfigEntry]:
    """Each logger with its level."""
    return [_logger_entry(logger) for logger in _loggers()]


def alter_loggers(changes: list[Change], *, validate_only: bool = False) -> None:
    """Set levels, or return loggers to that of their parent. Raises KafkaError; nothing is changed then."""
    known = set(_loggers())
    for change in changes:
        _check_logger(change, known)
    if validate_only:
        return
    for change in changes:
        level = logging.NOTSET if change.operation == DELETE else LOG_LEVELS[change.value or ""]
        logging.getLogger(None if change.name == "root" else change.name).setLevel(level)


def _loggers() -> list[str]:
    """Names of our loggers; `root` is the parent of all."""
    return ["root", *sorted(name for name in logging.root.manager.loggerDict if name == "oncelog" or name.startswith("oncelog."))]


def _logger_entry(name: str) -> ConfigEntry:
    level = logging.getLogger(None if name == "root" else name).getEffectiveLevel()
    source = ConfigSource.DYNAMIC_BROKER_LOGGER
    # DescribeConfigs gives no type (0) for a log level
    return ConfigEntry(name, _LEVEL_NAMES.get(level, "INFO"), source, 0, False, False, "Level of this logger.", ())


def _check_logger(change: Change, known: set[str]) -> None:
    if change.operation in (APPEND, SUBTRACT):
        operation = "APPEND" if change.operation == APPEND else "SUBTRACT"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{operation} operation is not allowed for the BROKER_LOGGER resource")
    if change.name not in known:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist!")
    if change.operation == DELETE:
        if change.name == "root":
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    elif change.value not in LOG_LEVELS:
        levels = ", ".join(sorted(LOG_LEVELS))
        message = f"Cannot set the log level of {change.name} to {change.value}: valid levels are {levels}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
