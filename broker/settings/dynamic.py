"""One place for settings that are read and altered while the broker runs: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs.

A broker setting has up to four values; the first that is there counts, and DescribeConfigs shows all of them as synonyms:

    2 set on this broker   3 set on all brokers   4 server.properties, environment, command line   5 default

A topic's own value (1) comes before those of the broker setting it falls back to. Names that stand for one another
(`log.retention.ms`, `.minutes`, `.hours`) are looked up together, as Kafka's `DynamicBrokerConfig.brokerConfigSynonyms` does.

Values set at run time are kept in the metadata store: broker and group settings in the sections named below, topic settings with the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from oncelog.broker.answers import Ended
from oncelog.broker.settings.catalogue import (
    SYNONYMS,
    THROTTLES,
    ConfigResource,
    ConfigSource,
    broker_options,
    in_milliseconds,
    is_kafkas,
    topic_options,
    with_coarse_units,
)
from oncelog.broker.settings.changes import DELETE, SET, Change, apply_changes, check_keys, check_operations, check_values
from oncelog.broker.settings.client_metrics import check_client_metrics, client_metrics_options
from oncelog.broker.settings.entries import ConfigEntry, Synonym, entry_of
from oncelog.broker.settings.group_overrides import check_bounds, group_options, of_broker
from oncelog.broker.settings.loggers import alter_loggers, describe_loggers
from oncelog.broker.settings.without_effect import accepted_options
from oncelog.broker.topics.names import topic_name_problem
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.protocol.config_def import ConfigType, Option, parse_config
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.topics import Topic, Topics
from oncelog.storage.config import LogConfig

SECTIONS = {
    ConfigResource.BROKER: "broker_configs",
    ConfigResource.GROUP: "group_configs",
    ConfigResource.CLIENT_METRICS: "client_metrics_configs",
}
ALL_BROKERS = ""
MIN_INSYNC = "min.insync.replicas"
# what stands under a name that is not declared, such as listener.name.*, may be a secret (`ConfigHelper.createBrokerConfigEntry`)
_UNKNOWN = Option("", "", ConfigType.UNKNOWN, None, "", sensitive=True)
BrokerListener = Callable[[Mapping[str, str]], None]


class Store(Protocol):
    """What is needed of `MetadataStore`."""

    def section(self, name: str) -> dict[str, Any]: ...

    def get(self, section: str, key: str) -> Any | None: ...

    def wanted(self, section: str, key: str) -> Any | None: ...

    def begin_update(self, section: str, changes: Mapping[str, Any | None], done: Ended) -> None: ...


class TopicConfigs(Protocol):
    """What is needed of `LogManager`."""

    topics: Topics

    def wanted_configs(self, name: str) -> dict[str, str]: ...

    def begin_alter_topic_configs(self, name: str, configs: dict[str, str], done: Ended) -> None: ...


class DynamicConfig:
    """Settings by resource. `static`: values given at the start by Kafka's names; `classes`: the settings classes of the broker."""

    def __init__(self, store: Store, logs: TopicConfigs, static: Mapping[str, str], classes: Iterable[Any], node_id: int) -> None:
        self._store = store
        self._logs = logs
        self._node = str(node_id)
        # nothing acts on a value that is only accepted, so none is told but Kafka's default
        acted_on = {name: value for name, value in static.items() if name not in accepted_options()}
        self._static = {**acted_on, "node.id": self._node, "broker.id": self._node, "process.roles": "broker,controller"}
        self._broker = broker_options(classes)
        self._topic = topic_options()
        self._group = group_options()
        self._metrics = client_metrics_options()
        self._listeners: list[BrokerListener] = []

    def on_broker_change(self, listener: BrokerListener) -> None:
        """Call `listener` with all broker values (name -> text, defaults left out) after each change of one."""
        self._listeners.append(listener)

    def in_force(self, values: Mapping[str, str]) -> None:
        """What came of settings at the start, for DescribeConfigs: the data directory, the ports that were bound."""
        self._static.update(values)

    def broker_values(self) -> dict[str, str]:
        """Broker settings that are not at their defaults, by name: static, then those of all brokers, then this broker's."""
        return {**self._static, **self._cluster_dynamic(), **self._node_dynamic()}

    def log_config(self) -> LogConfig:
        """The broker's defaults for topics, by its settings now. Raises KafkaError(INVALID_CONFIG)."""
        return parse_config(LogConfig, with_coarse_units(self.broker_values()))

    def txn_config(self) -> TxnConfig:
        """Those of transactions, likewise."""
        return parse_config(TxnConfig, self.broker_values())

    def group_values(self, group_id: str) -> dict[str, str]:
        """What is set on a group, by group level name."""
        return dict(self._store.get(SECTIONS[ConfigResource.GROUP], group_id) or {})

    def describe(self, kind: int, name: str) -> list[ConfigEntry]:
        """Every setting of a resource. Raises KafkaError 3, 17, 42."""
        match kind:
            case ConfigResource.TOPIC:
                return self.topic_entries(self._existing_topic(name).configs)
            case ConfigResource.BROKER:
                return self._describe_broker(name)
            case ConfigResource.BROKER_LOGGER:
                _check_node(name, self._node, "Broker id")
                return describe_loggers()
            case ConfigResource.CLIENT_METRICS:
                _must_be_named(name, "Client metrics subscription name must not be empty")
                return self._describe_stored(ConfigResource.CLIENT_METRICS, name, self._metrics, ConfigSource.CLIENT_METRICS)
            case ConfigResource.GROUP:
                _must_be_named(name, "Group name must not be empty")
                return self._describe_stored(ConfigResource.GROUP, name, self._group, ConfigSource.GROUP)
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")

    def topic_entries(self, own: Mapping[str, str]) -> list[ConfigEntry]:
        """The settings of a topic whose own values are `own`, in order of name (also for the answer of CreateTopics)."""
        entries: list[ConfigEntry] = []
        for name, declared in sorted(self._topic.items()):
            if name not in own and not is_kafkas(declared):
                continue
            synonyms = [Synonym(name, own[name], ConfigSource.DYNAMIC_TOPIC)] if name in own else []
            synonyms += self._broker_synonyms(declared.kafka_name) if declared.kafka_name else []
            value = own[name] if name in own else self._fallback(declared)
            entries.append(entry_of(name, declared, value, synonyms))
        return entries

    def checked_topic(self, configs: Mapping[str, str | None]) -> dict[str, str]:
        """`configs`. Raises KafkaError(INVALID_CONFIG) for a name or value that a topic cannot have, as CreateTopics answers it."""
        given = {name: value for name, value in configs.items() if value is not None}
        if len(given) < len(configs):
            missing = ",".join(name for name, value in configs.items() if value is None)
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {missing}")
        check_values(given, self._topic, "topic")
        return given

    def alter_incrementally(self, kind: int, name: str, changes: list[Change], ended: Ended, *, validate_only: bool = False) -> None:
        """SET, DELETE, APPEND, SUBTRACT on a resource (key 44); `ended` once they are in force. Raises KafkaError: nothing is changed."""
        check_keys(changes)
        check_operations(kind, changes)
        if kind == ConfigResource.BROKER_LOGGER:
            _check_node(name, self._node, "Node id", other="Unexpected node id. Expected {}, but received {}")
            alter_loggers(changes, validate_only=validate_only)
            ended(None)
            return
        options, own = self._alterable(kind, name)
        if kind == ConfigResource.BROKER and any(change.name == MIN_INSYNC and change.operation == DELETE for change in changes):
            raise _pinned()
        lists = (
            options if kind != ConfigResource.CLIENT_METRICS else {}
        )  # whose lists cannot be appended to (`KafkaConfigSchema.isSplittable`)
        after = apply_changes(own, changes, lists, self._fallback_value)
        self._keep(kind, name, own, after, ended, validate_only)

    def replace(self, kind: int, name: str, values: list[tuple[str, str | None]], ended: Ended, *, validate_only: bool = False) -> None:
        """All values of a resource at once: what is not named returns to its default (key 33). As `alter_incrementally`."""
        changes = [Change(key, SET, value) for key, value in values]
        check_keys(changes)
        if kind == ConfigResource.BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
        options, own = self._alterable(kind, name)
        if (kind, name) == (ConfigResource.BROKER, ALL_BROKERS) and all(change.name != MIN_INSYNC for change in changes):
            raise _pinned()
        self._keep(kind, name, own, apply_changes({}, changes, options, self._fallback_value), ended, validate_only)

    def resources(self, kinds: Iterable[int]) -> list[tuple[ConfigResource, str]]:
        """(type, name) of every resource of `kinds` that has settings (key 74)."""
        found: list[tuple[ConfigResource, str]] = []
        for kind in kinds:
            match kind:
                case ConfigResource.TOPIC:
                    found += [(ConfigResource.TOPIC, topic.name) for topic in self._logs.topics.all()]
                case ConfigResource.BROKER | ConfigResource.BROKER_LOGGER:
                    found.append((ConfigResource(kind), self._node))
                case ConfigResource.GROUP | ConfigResource.CLIENT_METRICS:
                    found += [(ConfigResource(kind), name) for name in self._store.section(SECTIONS[ConfigResource(kind)])]
        return found

    # --- brokers

    def _cluster_dynamic(self) -> dict[str, str]:
        # 4.x turns eligible leader replicas on and with it pins min.insync.replicas for the whole cluster, so its source is 3 everywhere
        pinned = {MIN_INSYNC: self._static.get(MIN_INSYNC, "1")}
        return {**pinned, **(self._store.get(SECTIONS[ConfigResource.BROKER], ALL_BROKERS) or {})}

    def _node_dynamic(self) -> dict[str, str]:
        return dict(self._store.get(SECTIONS[ConfigResource.BROKER], self._node) or {})

    def _describe_broker(self, name: str) -> list[ConfigEntry]:
        if name == ALL_BROKERS:
            cluster = self._cluster_dynamic()
            found = [(key, self._broker[key], value) for key, value in cluster.items() if key in self._broker]
            return [entry_of(key, o, value, [Synonym(key, value, ConfigSource.DYNAMIC_DEFAULT_BROKER)]) for key, o, value in found]
        _check_node(name, self._node, "Broker id", f"{self._node} or empty string")
        unlisted = {key: THROTTLES.get(key, _UNKNOWN) for key in self.broker_values() if key not in self._broker}
        entries: list[ConfigEntry] = []
        for key, declared in (*self._broker.items(), *unlisted.items()):
            synonyms = self._broker_synonyms(key)
            entries.append(entry_of(key, declared, synonyms[0].value if synonyms else None, synonyms))
        return entries

    def _broker_synonyms(self, name: str) -> list[Synonym]:
        names = SYNONYMS.get(name, (name,))
        layers = (
            (ConfigSource.DYNAMIC_BROKER, self._node_dynamic()),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self._cluster_dynamic()),
            (ConfigSource.STATIC_BROKER, self._static),
            (ConfigSource.DEFAULT, self._defaults(names)),
        )
        found = [Synonym(each, values[each], source) for source, values in layers for each in names if each in values]
        # what comes before the first value under the name itself is left out, even when that leaves nothing (DynamicConfigManager)
        first = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[first:]

    def _defaults(self, names: Iterable[str]) -> dict[str, str]:
        found = {name: self._broker[name].format(self._broker[name].default) for name in names if name in self._broker}
        return {name: text for name, text in found.items() if text is not None}

    def _fallback_value(self, name: str) -> str:
        """What APPEND and SUBTRACT start from when the resource has no value of its own."""
        declared = self._topic.get(name) or self._broker.get(name)
        return (self._fallback(declared) if declared is not None else None) or ""

    def _fallback(self, declared: Option) -> str | None:
        """The value of a topic setting that the topic does not set."""
        values = self.broker_values()
        for each in SYNONYMS.get(declared.kafka_name, (declared.kafka_name,)):
            if each in values:
                return in_milliseconds(each, values[each])
        return declared.format(declared.default)

    # --- altering

    def _alterable(self, kind: int, name: str) -> tuple[dict[str, Option], dict[str, str]]:
        """The options and present own values of a resource that may be altered. Raises KafkaError."""
        match kind:
            case ConfigResource.TOPIC:
                _must_be_named(name, "Default topic resources are not allowed.")
                self._existing_topic(name)
                return self._topic, self._logs.wanted_configs(name)
            case ConfigResource.BROKER:
                if name != ALL_BROKERS:
                    _check_node(name, self._node, "Node id")
                return self._broker, self._wanted(ConfigResource.BROKER, name)
            case ConfigResource.CLIENT_METRICS:
                _must_be_named(name, "Subscription name can't be empty")
                return self._metrics, self._wanted(ConfigResource.CLIENT_METRICS, name)
            case ConfigResource.GROUP:
                _must_be_named(name, "Default group resources are not allowed.")
                return self._group, self._wanted(ConfigResource.GROUP, name)
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")

    def _keep(self, kind: int, name: str, before: Mapping[str, str], after: dict[str, str], ended: Ended, validate_only: bool) -> None:
        match kind:
            case ConfigResource.TOPIC:
                check_values(after, self._topic, "topic")
            case ConfigResource.BROKER:
                self._check_broker(name, before, after)
            case ConfigResource.CLIENT_METRICS:
                check_client_metrics(after)
            case _:
                check_values(after, self._group, "group")
                check_bounds(after, self._broker_value)
        if kind == ConfigResource.TOPIC and not validate_only:
            self._logs.begin_alter_topic_configs(name, after, ended)
            return
        if validate_only:
            ended(None)
            return

        def kept(error: KafkaError | None) -> None:
            if error is None and kind == ConfigResource.BROKER:
                for listener in self._listeners:
                    listener(self.broker_values())
            ended(error)

        self._store.begin_update(SECTIONS[ConfigResource(kind)], {name: after or None}, kept)

    def _wanted(self, kind: ConfigResource, name: str) -> dict[str, str]:
        return dict(self._store.wanted(SECTIONS[kind], name) or {})

    def _check_broker(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """As `DynamicBrokerConfig.validate` and `ConfigurationControlManager`; names we do not know are kept for whoever does."""
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        fixed = sorted(key for key in changed if key in self._broker and not self._broker[key].dynamic)
        fixed += sorted(key for key in changed if key.startswith("listener.name."))
        per_listener = sorted(key for key in changed if key.startswith("ssl."))
        if per_listener:
            message = f"These security configs can be dynamically updated only per-listener using the listener prefix: {per_listener}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        if fixed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
        of_one_broker = sorted(key for key in changed if key.startswith("sasl."))
        if of_one_broker and name == ALL_BROKERS:
            message = f"Cannot update these configs at default cluster level, broker id must be specified: {of_one_broker}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        if MIN_INSYNC in changed and name != ALL_BROKERS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_INSYNC} cannot be altered while ELR is enabled.")
        for key in changed:
            declared = self._broker.get(key, THROTTLES.get(key))
            if declared is not None and key in after:
                try:
                    declared.parse(after[key])
                except KafkaError as error:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from None

    def _broker_value(self, name: str) -> str | None:
        """A broker setting's value in force; None where there is no such setting."""
        return self._fallback(self._broker[name]) if name in self._broker else None

    def _describe_stored(self, kind: ConfigResource, name: str, options: Mapping[str, Option], source: ConfigSource) -> list[ConfigEntry]:
        own = self._store.get(SECTIONS[kind], name) or {}
        entries: list[ConfigEntry] = []
        for key, declared in options.items():
            synonyms = [Synonym(key, own[key], source)] if key in own else []
            if kind is ConfigResource.GROUP:
                synonyms += self._broker_synonyms(of_broker(key)) or [Synonym(key, declared.format(declared.default), ConfigSource.DEFAULT)]
            value = synonyms[0].value if synonyms else declared.format(declared.default)
            entries.append(entry_of(key, declared, value, synonyms))
        return entries

    def _existing_topic(self, name: str) -> Topic:
        problem = topic_name_problem(name)
        if problem is not None:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
        topic = self._logs.topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return topic


def _pinned() -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_INSYNC} cannot be removed while ELR is enabled.")


def _must_be_named(name: str, message: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _check_node(name: str, ours: str, noun: str, expected: str | None = None, *, other: str | None = None) -> None:
    """Raises KafkaError(INVALID_REQUEST) unless `name` is this broker's id."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{noun} must not be empty")
    if not name.removeprefix("-").isdecimal():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{noun} must be an integer, but it is: {name}")
    if name != ours:
        text = other.format(ours, name) if other else f"Unexpected broker id, expected {expected or ours}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
