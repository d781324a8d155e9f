"""From key=value to a `BrokerConfig`: names are looked up, values parsed and checked, alone and together."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from oncelog.broker.auth.config import AuthConfig
from oncelog.broker.settings.broker import SECTIONS, BrokerConfig
from oncelog.broker.settings.catalogue import broker_options, with_coarse_units
from oncelog.broker.settings.checks import check_together
from oncelog.broker.settings.listeners import advertised_endpoints, bound_listeners
from oncelog.broker.settings.server import ServerConfig
from oncelog.broker.settings.without_effect import KNOWN_UNUSED, accepted_options
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.protocol.config_def import Option, options_of, parse_config
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.config import LogConfig

_log = logging.getLogger(__name__)


def load(values: Mapping[str, str]) -> BrokerConfig:
    """Settings from merged `values`. Raises KafkaError(INVALID_CONFIG) that says what is wrong and what would be right."""
    check_names(values)
    server = parse_config(ServerConfig, values)
    listeners = bound_listeners(server, values)
    config = BrokerConfig(
        server,
        parse_config(LogConfig, with_coarse_units(values)),
        parse_config(TxnConfig, values),
        parse_config(GroupConfig, values),
        parse_config(ShareGroupConfig, values),
        parse_config(ShareCoordinatorConfig, values),
        parse_config(AuthConfig, values),
        dict(values),
        listeners,
        advertised_endpoints(server, values, listeners),
    )
    check_together(config)
    return config


def known_options() -> dict[str, Option]:
    """Every setting that we act on, by each of its broker level names."""
    found = {name: declared for name, declared in broker_options(SECTIONS).items() if name not in accepted_options()}
    for section in SECTIONS:
        for declared in options_of(section).values():
            for name in (declared.kafka_name, *declared.aliases):
                found[name] = declared
    return found


def check_names(values: Mapping[str, str]) -> None:
    """Accept what Kafka knows, refuse what nobody knows, with the nearest name."""
    known = known_options()
    unused = []
    for name in values:
        plain = re.sub(r"^listener\.name\.[^.]+\.(?:(?:plain|scram-sha-256|scram-sha-512)\.)?", "", name)
        if plain in KNOWN_UNUSED or plain.startswith(("metric.reporters", "confluent.")):
            unused.append(name)
            continue
        if plain in known:
            continue
        import difflib

        near = difflib.get_close_matches(name, [*known, *KNOWN_UNUSED], n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown setting {name}{hint}")
    if unused:
        _log.info("settings without effect on one node: %s", ", ".join(sorted(unused)))
