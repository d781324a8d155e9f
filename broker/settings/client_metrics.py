"""Configs of a client metrics subscription (KIP-714), and what they may be (`ClientMetricsConfigs`)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from oncelog.protocol.config_def import INT, LIST, Option, config_class, option, options_of
from oncelog.protocol.errors import ErrorCode, KafkaError

_INTERVAL, _MATCH = "interval.ms", "match"
_INTERVAL_MS = range(100, 3_600_001)
_SELECTORS = frozenset(
    f"client_{name}" for name in ("id", "instance_id", "software_name", "software_version", "source_address", "source_port")
)


@config_class
class ClientMetricsConfig:
    """Settings of a client metrics subscription."""

    interval_ms: int = option(_INTERVAL, INT, 300_000, "How often clients should push, in milliseconds: 100 to 3600000.")
    match: tuple[str, ...] = option(_MATCH, LIST, (), "Which clients are meant: NAME=PATTERN, all must match.")
    metrics: tuple[str, ...] = option("metrics", LIST, (), "Prefixes of the metrics wanted.")


def client_metrics_options() -> dict[str, Option]:
    """Name -> option of a client metrics subscription."""
    return {declared.kafka_name: dataclasses.replace(declared, dynamic=True) for declared in options_of(ClientMetricsConfig).values()}


def check_client_metrics(values: Mapping[str, str]) -> None:
    """Raises KafkaError: 42 for an unknown name and an interval out of bounds, 40 for no number and a pattern that is none."""
    options = client_metrics_options()
    for name, text in values.items():
        if name not in options:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
        parsed = options[name].parse(text)
        if name == _INTERVAL and parsed not in _INTERVAL_MS:
            message = f"Invalid value {text} for {name}, interval must be between 100 and 3600000 (1 hour)"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        for pattern in parsed if name == _MATCH else ():
            if not _is_selector(pattern):
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _is_selector(text: str) -> bool:
    name, *patterns = (part.strip() for part in text.split("="))
    if name not in _SELECTORS or len(patterns) != 1 or not patterns[0]:
        return False
    try:
        re.compile(patterns[0])
    except re.error:
        return False
    return True
