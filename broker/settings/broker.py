"""All configs of one broker: one namespace of Kafka's names, declared where they act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oncelog.broker.auth.config import AuthConfig
from oncelog.broker.settings.listeners import ListenerConfig
from oncelog.broker.settings.server import ServerConfig
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.storage.config import LogConfig

SECTIONS: tuple[Any, ...] = (ServerConfig, LogConfig, TxnConfig, GroupConfig, ShareGroupConfig, ShareCoordinatorConfig, AuthConfig)


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """All settings of one broker. `values`: what was given, by Kafka's names; `advertised`: listener name -> (host, port) (see there)."""

    server: ServerConfig
    log: LogConfig
    txn: TxnConfig
    group: GroupConfig
    share_group: ShareGroupConfig
    share: ShareCoordinatorConfig
    auth: AuthConfig
    values: Mapping[str, str]
    listeners: tuple[ListenerConfig, ...]
    advertised: dict[str, tuple[str, int]] = field(default_factory=dict)
