"""The registry reads the decorators' lines; they must say what the handlers really register."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path

import pytest
from oncelog.broker import handlers
from oncelog.broker.net import dispatch
from oncelog.broker.net.dispatch import ApiRegistry, CloseConnection
from oncelog.protocol.api_keys import ApiKey

GOLDEN = Path(__file__).parents[3] / "golden" / "api_versions_4.3.0.json"


def test_declared_versions_are_those_registered() -> None:
    registry = ApiRegistry()
    for module in pkgutil.iter_modules(handlers.__path__):
        if module.name.startswith("api_"):
            importlib.import_module(f"{handlers.__name__}.{module.name}")
    declared = {one.key: one for one in registry.declared()}
    assert declared.keys() == dispatch._handlers.keys()
    for key, registered in dispatch._handlers.items():
        assert (registered.min_version, registered.max_version, registered.raw, registered.advertised_min, registered.hidden) == (
            declared[key].min_version,
            declared[key].max_version,
            declared[key].raw,
            declared[key].advertised_min,
            declared[key].hidden,
        )


def test_a_handler_takes_the_request_of_its_key_and_answers_with_its_answer() -> None:
    """A type checker reads the annotations; that they are the right ones nobody else says."""
    for module in pkgutil.iter_modules(handlers.__path__):
        if not module.name.startswith("api_"):
            continue
        handle = importlib.import_module(f"{handlers.__name__}.{module.name}").handle
        key = ApiKey(int(module.name.split("_")[1]))
        first, answer = next(iter(handle.__annotations__.values())), handle.__annotations__["return"]
        raw = dispatch._handlers[key].raw
        assert first == ("memoryview" if raw else f"messages.{key.schema_name}Request"), module.name
        packed = answer == "Reply[list[Piece]]"  # one that passes records on
        assert raw or packed or f"messages.{key.schema_name}Response" in answer, module.name


def test_file_names_carry_the_key() -> None:
    for one in ApiRegistry().declared():
        found = list(Path(handlers.__path__[0]).glob(f"api_{one.key:02}_*.py"))
        assert len(found) == 1, one


def test_no_version_is_advertised_that_kafka_does_not_know() -> None:
    recorded = json.loads(GOLDEN.read_text())
    ranges = {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in _api_keys(recorded)}
    for key, low, high in ApiRegistry().advertised():
        assert key in ranges, ApiKey(key)
        assert ranges[key][0] <= low <= high <= ranges[key][1], ApiKey(key)


def _api_keys(value: object) -> list[dict[str, int]]:
    if isinstance(value, dict):
        if "api_keys" in value:
            return list(value["api_keys"])
        return next((found for inner in value.values() if (found := _api_keys(inner))), [])
    if isinstance(value, list):
        return next((found for inner in value if (found := _api_keys(inner))), [])
    return []


def test_unknown_keys_and_versions_close() -> None:
    registry = ApiRegistry()
    for key, version in ((9999, 0), (-1, 0), (4, 0), (ApiKey.PRODUCE, 2), (ApiKey.PRODUCE, 14), (ApiKey.FETCH, 3)):
        with pytest.raises(CloseConnection):
            registry.find(key, version)


def test_unstable_versions_are_served_when_switched_on() -> None:
    assert ApiRegistry(unstable=True).find(ApiKey.INIT_PRODUCER_ID, 6).key is ApiKey.INIT_PRODUCER_ID
    with pytest.raises(CloseConnection):
        ApiRegistry().find(ApiKey.INIT_PRODUCER_ID, 6)
