"""What a handler is given: the broker's parts, and one request's own facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.net import refusals
from oncelog.broker.net.error_counts import ErrorCounts

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable

    from oncelog.broker.auth.authorizer import Authorizer
    from oncelog.broker.auth.sasl import SaslState
    from oncelog.broker.auth.scram import ScramCredentials
    from oncelog.broker.fetching.sessions import FetchSessions
    from oncelog.broker.net.told_causes import Causes
    from oncelog.broker.net.turns import Turns
    from oncelog.broker.settings.broker import BrokerConfig
    from oncelog.broker.settings.client_quotas import ClientQuotas
    from oncelog.broker.settings.dynamic import DynamicConfig
    from oncelog.broker.sharing.service import Sharing
    from oncelog.broker.topics.metadata_cache import MetadataCache
    from oncelog.coordinator.groups.service import GroupService
    from oncelog.coordinator.share.persister import SharePersister
    from oncelog.coordinator.txn.service import TxnService
    from oncelog.storage.directory.manager import LogManager
    from oncelog.storage.env import Env
    from oncelog.storage.files.metadata_store import MetadataStore


class ConnectionFacts(Protocol):
    """What handlers may know of, and do to, their connection."""

    principal: str
    client_host: str
    local_address: tuple[str, int]
    sasl: SaslState | None
    lost_listeners: tuple[Callable[[object], None], ...]  # told of its end, once each

    @property
    def listener_name(self) -> str: ...

    @property
    def at_once_bytes(self) -> int: ...

    def close_after_response(self) -> None: ...

    def turned_away(self, what: str, **facts: object) -> None: ...

    def authenticated(self, principal: str) -> None: ...


class ServedApis(Protocol):
    """What ApiVersions tells (`net/dispatch.py`)."""

    def advertised(self) -> list[tuple[int, int, int]]: ...

    def version_range(self, key: int) -> tuple[int, int]: ...


class BrokerContext:
    """The parts of one broker, put together in `lifecycle.py`."""

    __slots__ = (
        "apis",
        "authorizer",
        "causes",
        "client_quotas",
        "cluster_id",
        "config",
        "dynamic_configs",
        "env",
        "errors",
        "fetch_sessions",
        "groups",
        "logs",
        "metadata",
        "node_id",
        "persister",
        "scram_credentials",
        "sharing",
        "store",
        "transactions",
        "turns",
    )

    causes: Causes
    env: Env
    config: BrokerConfig
    logs: LogManager
    transactions: TxnService
    groups: GroupService
    persister: SharePersister
    store: MetadataStore
    node_id: int
    cluster_id: str
    authorizer: Authorizer | None
    fetch_sessions: FetchSessions
    dynamic_configs: DynamicConfig
    client_quotas: ClientQuotas
    scram_credentials: ScramCredentials
    apis: ServedApis
    metadata: MetadataCache
    turns: Turns
    sharing: Sharing

    def __init__(self) -> None:
        self.errors = ErrorCounts()

    def endpoint_for(self, connection: Any) -> tuple[str, int]:
        """(host, port) to tell a client of `connection`: the listener's advertised address, where it has none the one it dialled."""
        host, port = self.config.advertised.get(connection.listener_name, ("", 0))
        return (host, port) if host and port else (host or connection.local_address[0], port or connection.local_address[1])

    def topic_name(self, topic_id: uuid.UUID | None) -> str | None:
        """Of the topic that has this id now."""
        topic = self.logs.topics.by_id(topic_id) if topic_id is not None else None
        return None if topic is None else topic.name


class RequestContext:
    """One request."""

    __slots__ = ("api_version", "broker", "client_id", "connection", "now_ms")

    def __init__(self, broker: BrokerContext, connection: ConnectionFacts, api_version: int, client_id: str | None, now_ms: int) -> None:
        self.broker = broker
        self.connection = connection
        self.api_version = api_version
        self.client_id = client_id
        self.now_ms = now_ms

    def authorize(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """May this connection's principal do that? A no is logged. Everything is allowed without an authorizer."""
        if self.sees(operation, resource_type, name):
            return True
        principal, resource = self.connection.principal, resource_type.name
        refusals.tell("denied", self.connection.client_host, principal=principal, operation=operation.name, resource=resource, name=name)
        return False

    def sees(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """As `authorize`, for what nobody asked for by name (`Action.logIfDenied`): a no is not logged."""
        authorizer = self.broker.authorizer
        return authorizer is None or authorizer.authorize(
            self.connection.principal, self.connection.client_host, operation, resource_type, name
        )

    def authorize_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """May it do that on at least one resource of the type?"""
        authorizer = self.broker.authorizer
        return authorizer is None or authorizer.authorize_any(
            self.connection.principal, self.connection.client_host, operation, resource_type
        )
