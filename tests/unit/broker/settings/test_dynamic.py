"""Settings while the broker runs: which of a setting's values counts, what may be altered, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oncelog.broker.settings.broker import SECTIONS
from oncelog.broker.settings.catalogue import ConfigSource
from oncelog.broker.settings.changes import APPEND, DELETE, SET, SUBTRACT, Change
from oncelog.broker.settings.dynamic import DynamicConfig
from oncelog.broker.settings.entries import ConfigEntry
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.administered import FakeLogs
from support.memory_store import MemoryStore

pytestmark = pytest.mark.unit
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
EVERYBODY, US = "", "7"  # names of the resource BROKER
MIN_INSYNC = "min.insync.replicas"


class Place:
    """Settings on a store and topics in memory; node 7, whose topic a02 sets nothing of its own."""

    def __init__(self, folder: Path, **static: str) -> None:
        self.store, self.logs = MemoryStore(), FakeLogs(folder)
        self.configs = DynamicConfig(self.store, self.logs, {k.replace("__", "."): v for k, v in static.items()}, SECTIONS, 7)  # type: ignore[arg-type]

    def set(self, kind: int, name: str, **values: str | None) -> None:
        changes = [Change(key.replace("__", "."), SET if value is not None else DELETE, value) for key, value in values.items()]
        self.alter(kind, name, changes)

    def alter(self, kind: int, name: str, changes: list[Change], *, validate_only: bool = False) -> None:
        ended: list[KafkaError | None] = []
        self.configs.alter_incrementally(kind, name, changes, ended.append, validate_only=validate_only)
        assert ended == [None]

    def replace(self, kind: int, name: str, values: list[tuple[str, str | None]]) -> None:
        ended: list[KafkaError | None] = []
        self.configs.replace(kind, name, values, ended.append)
        assert ended == [None]

    def entry(self, kind: int, name: str, setting: str) -> ConfigEntry:
        return next(entry for entry in self.configs.describe(kind, name) if entry.name == setting)

    def layers(self, kind: int, name: str, setting: str) -> list[tuple[str, str | None, int]]:
        return [(synonym.name, synonym.value, int(synonym.source)) for synonym in self.entry(kind, name, setting).synonyms]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refusal(call: Callable[[], Any]) -> tuple[ErrorCode, str]:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code, str(refused.value.message)


# -- which value counts


def test_the_nearest_value_counts_and_all_are_shown(tmp_path: Path) -> None:
    place = Place(tmp_path, log__segment__bytes="2000000")
    place.set(BROKER, EVERYBODY, log__segment__bytes="3000000")
    place.set(BROKER, US, log__segment__bytes="4000000")
    name = "log.segment.bytes"
    values = [(name, "4000000", 2), (name, "3000000", 3), (name, "2000000", 4), (name, "1073741824", 5)]
    assert place.layers(BROKER, US, name) == values
    assert place.layers(TOPIC, "a02", "segment.bytes") == values
    place.set(TOPIC, "a02", segment__bytes="5000000")
    assert place.layers(TOPIC, "a02", "segment.bytes") == [("segment.bytes", "5000000", 1), *values]
    assert place.entry(TOPIC, "a02", "segment.bytes").value == "5000000"
    assert place.layers(BROKER, EVERYBODY, name) == [(name, "3000000", 3)]
    place.set(BROKER, US, log__segment__bytes=None)
    assert place.configs.log_config().segment_bytes == 3_000_000


def test_coarser_units_stand_behind_finer_ones(tmp_path: Path) -> None:
    place = Place(tmp_path, log__retention__hours="2")
    assert place.entry(TOPIC, "a02", "retention.ms").value == "7200000"
    assert place.configs.log_config().retention_ms == 7_200_000
    place.set(BROKER, US, log__retention__ms="5")
    assert place.entry(TOPIC, "a02", "retention.ms").value == "5"
    assert place.layers(BROKER, US, "log.retention.ms")[:2] == [("log.retention.ms", "5", 2), ("log.retention.hours", "2", 4)]
    assert place.entry(BROKER, US, "log.retention.hours").value == "2"


def test_values_without_effect_are_not_told(tmp_path: Path) -> None:
    """Nothing acts on them, so Kafka's default is the truth."""
    place = Place(tmp_path, num__network__threads="99", num__partitions="5")
    assert (place.entry(BROKER, US, "num.partitions").value, place.entry(BROKER, US, "num.network.threads").value) == ("5", "3")
    assert "num.network.threads" not in place.configs.broker_values()


def test_what_came_of_settings_at_the_start(place: Place) -> None:
    place.configs.in_force({"log.dirs": "/data", "listeners": "PLAINTEXT://h:5"})
    found = place.entry(BROKER, US, "log.dirs")
    assert (found.value, found.source, place.entry(BROKER, US, "listeners").value) == (
        "/data",
        ConfigSource.STATIC_BROKER,
        "PLAINTEXT://h:5",
    )
    assert [place.entry(BROKER, US, name).value for name in ("node.id", "broker.id", "process.roles")] == ["7", "7", "broker,controller"]


def test_a_name_that_nobody_declares_may_be_a_secret(place: Place) -> None:
    place.set(BROKER, US, my__plugin__password="secret")
    found = place.entry(BROKER, US, "my.plugin.password")
    assert (found.value, found.sensitive, [synonym.value for synonym in found.synonyms]) == (None, True, [None])


def test_group_settings_fall_back_to_the_brokers(tmp_path: Path) -> None:
    place = Place(tmp_path, group__consumer__session__timeout__ms="46000")
    name = "consumer.session.timeout.ms"
    place.set(GROUP, "g", consumer__session__timeout__ms="50000")
    brokers = f"group.{name}"
    assert place.layers(GROUP, "g", name) == [(name, "50000", 8), (brokers, "46000", 4), (brokers, "45000", 5)]
    assert place.entry(GROUP, "other", name).value == "46000"
    assert place.configs.group_values("g") == {name: "50000"}
    assert place.configs.group_values("other") == {}


def test_a_subscriptions_settings(place: Place) -> None:
    place.set(METRICS, "m", interval__ms="1000")
    assert place.layers(METRICS, "m", "interval.ms") == [("interval.ms", "1000", 7)]
    assert (place.entry(METRICS, "m", "metrics").value, place.entry(METRICS, "m", "metrics").source) == ("", ConfigSource.DEFAULT)


# -- min.insync.replicas, which eligible leader replicas pin for the whole cluster


def test_min_insync_stands_with_all_brokers_from_the_start(tmp_path: Path) -> None:
    assert Place(tmp_path).layers(BROKER, US, MIN_INSYNC) == [(MIN_INSYNC, "1", 3), (MIN_INSYNC, "1", 5)]
    given = Place(tmp_path, min__insync__replicas="2")
    assert given.layers(BROKER, EVERYBODY, MIN_INSYNC) == [(MIN_INSYNC, "2", 3)]


def test_it_is_altered_there_and_never_removed(place: Place) -> None:
    place.set(BROKER, EVERYBODY, min__insync__replicas="3")
    assert place.entry(TOPIC, "a02", MIN_INSYNC).value == "3"
    removed = ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_INSYNC} cannot be removed while ELR is enabled."
    assert refusal(lambda: place.set(BROKER, EVERYBODY, min__insync__replicas=None)) == removed
    assert refusal(lambda: place.replace(BROKER, EVERYBODY, [("log.retention.ms", "5")])) == removed
    here = ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_INSYNC} cannot be altered while ELR is enabled."
    assert refusal(lambda: place.set(BROKER, US, min__insync__replicas="2")) == here
    place.replace(BROKER, EVERYBODY, [(MIN_INSYNC, "2"), ("log.retention.ms", "5")])
    assert place.entry(BROKER, US, MIN_INSYNC).value == "2"


# -- altering


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "8", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (LOGGER, "8", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (3, "a02", ErrorCode.INVALID_REQUEST),
    ],
)
def test_resources_that_are_not_there_are_not_described(place: Place, kind: int, name: str, code: ErrorCode) -> None:
    assert refusal(lambda: place.configs.describe(kind, name))[0] is code


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("8", "Unexpected broker id, expected 7, but received 8"),
        ("-7", "Unexpected broker id, expected 7, but received -7"),
        ("x", "Node id must be an integer, but it is: x"),
    ],
)
def test_another_broker_is_not_altered_here(place: Place, name: str, why: str) -> None:
    assert refusal(lambda: place.set(BROKER, name, log__retention__ms="5")) == (ErrorCode.INVALID_REQUEST, why)


@pytest.mark.parametrize(
    ("name", "setting", "value", "code", "why"),
    [
        (US, "num.partitions", "5", 42, "Cannot update these configs dynamically: [num.partitions]"),
        (US, "listener.name.x.y", "5", 42, "Cannot update these configs dynamically: [listener.name.x.y]"),
        (US, "ssl.keystore.location", "/x", 42, "only per-listener using the listener prefix: ['ssl.keystore.location']"),
        (EVERYBODY, "sasl.of.a.plugin", "x", 42, "default cluster level, broker id must be specified: ['sasl.of.a.plugin']"),
        (US, "log.retention.ms", "long", 42, "Not a number of type LONG"),
        (US, "leader.replication.throttled.rate", "-1", 42, "at least 0"),
        (US, "log.retention.ms", "5", 0, ""),
        (US, "leader.replication.throttled.rate", "5", 0, ""),
        (US, "some.plugin.key", "5", 0, ""),
        (US, "sasl.of.a.plugin", "5", 0, ""),
    ],
)
def test_what_a_broker_may_be_told_while_it_runs(place: Place, name: str, setting: str, value: str, code: int, why: str) -> None:
    changes = [Change(setting, SET, value)]
    if code == 0:
        place.alter(BROKER, name, changes)
        assert place.configs.broker_values()[setting] == value
        return
    got, text = refusal(lambda: place.alter(BROKER, name, changes))
    assert got == code
    assert why in text
    assert place.store.sections == {}


def test_what_is_set_to_the_same_again_has_not_changed(place: Place) -> None:
    place.store.put("broker_configs", US, {"num.partitions": "5"})  # from before it was fixed
    place.set(BROKER, US, num__partitions="5", log__retention__ms="6")
    assert place.store.sections["broker_configs"][US] == {"num.partitions": "5", "log.retention.ms": "6"}


def test_the_last_value_takes_its_resource_along(place: Place) -> None:
    place.set(GROUP, "g", consumer__session__timeout__ms="50000")
    place.set(GROUP, "g", consumer__session__timeout__ms=None)
    assert place.store.sections["group_configs"] == {}


def test_lists_start_from_what_is_in_force(place: Place) -> None:
    policy = "cleanup.policy"
    place.alter(TOPIC, "a02", [Change(policy, APPEND, "compact")])
    assert place.logs.by_name["a02"].configs == {policy: "delete,compact"}
    place.alter(TOPIC, "a02", [Change(policy, SUBTRACT, "delete")])
    assert place.logs.by_name["a02"].configs == {policy: "compact"}
    code, _ = refusal(lambda: place.alter(METRICS, "m", [Change("metrics", APPEND, "x")]))
    assert code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(("text", "word"), [("44999", "greater"), ("60001", "less")])
def test_groups_stay_within_the_brokers_bounds(place: Place, text: str, word: str) -> None:
    code, why = refusal(lambda: place.set(GROUP, "g", consumer__session__timeout__ms=text))
    assert (code, word in why, place.store.sections) == (ErrorCode.INVALID_CONFIG, True, {})


def test_loggers_are_not_replaced(place: Place) -> None:
    assert refusal(lambda: place.replace(LOGGER, US, []))[0] is ErrorCode.INVALID_REQUEST
    text = "Unexpected node id. Expected 7, but received 8"
    assert refusal(lambda: place.set(LOGGER, "8", root="INFO")) == (ErrorCode.INVALID_REQUEST, text)


def test_listeners_hear_of_changes_of_brokers_alone(place: Place) -> None:
    heard: list[str | None] = []
    place.configs.on_broker_change(lambda values: heard.append(values.get("log.retention.ms")))
    place.alter(BROKER, US, [Change("log.retention.ms", SET, "4")], validate_only=True)
    place.set(TOPIC, "a02", retention__ms="9")
    place.set(GROUP, "g", consumer__session__timeout__ms="50000")
    assert heard == []
    place.set(BROKER, EVERYBODY, log__retention__ms="5")
    place.replace(BROKER, US, [("log.retention.ms", "6")])
    assert heard == ["5", "6"]


def test_topics_to_be_made(place: Place) -> None:
    assert place.configs.checked_topic({"retention.ms": "5"}) == {"retention.ms": "5"}
    missing = "Null value not supported for topic configs: a,b"
    assert refusal(lambda: place.configs.checked_topic({"a": None, "retention.ms": "5", "b": None})) == (ErrorCode.INVALID_CONFIG, missing)
    for bad in ({"no.such": "1"}, {"retention.ms": "x"}, {"log.retention.ms": "5"}):
        assert refusal(lambda bad=bad: place.configs.checked_topic(bad))[0] is ErrorCode.INVALID_CONFIG


def test_what_has_settings(place: Place) -> None:
    place.set(GROUP, "g", consumer__session__timeout__ms="50000")
    place.set(METRICS, "m", interval__ms="1000")
    assert place.configs.resources([METRICS, BROKER, GROUP]) == [(METRICS, "m"), (BROKER, US), (GROUP, "g")]
    assert {name for _, name in place.configs.resources([TOPIC])} == set(place.logs.by_name)
    assert place.configs.resources([]) == []


@pytest.mark.parametrize(("enabled", "verifies"), [("true", True), ("false", False)])
def test_the_transaction_settings_in_force(place: Place, enabled: str, verifies: bool) -> None:
    place.set(BROKER, EVERYBODY, transaction__partition__verification__enable=enabled)
    assert place.configs.txn_config().partition_verification_enable is verifies
