"""One broker from data directory to open listeners, and back: what is built in which order, and what is done when it is due.

The process around it (signals, the loop, standard output) is `commands/serve`; one address that accepts connections is `net/listener`;
when the next tick is, `process/wakeups` decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oncelog.broker.context import BrokerContext
from oncelog.broker.fetching.sessions import FetchSessions
from oncelog.broker.net.answer_stream import UnreadAnswers
from oncelog.broker.net.backlog import Backlog
from oncelog.broker.net.connection_quotas import ConnectionQuotas, resolved
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.net.listener import RECEIVE_BUFFER_BYTES, Listener
from oncelog.broker.net.request_memory import RequestMemory
from oncelog.broker.net.requests import RequestHandler
from oncelog.broker.net.told_causes import Causes
from oncelog.broker.net.turns import Turns
from oncelog.broker.process.file_limits import FileLimits, shares
from oncelog.broker.process.wakeups import Wakeups
from oncelog.broker.settings.broker import SECTIONS, BrokerConfig
from oncelog.broker.settings.checks import parse_overrides
from oncelog.broker.settings.listeners import Endpoint, ListenerConfig
from oncelog.broker.sharing.service import Sharing
from oncelog.broker.topics.metadata_cache import MetadataCache
from oncelog.coordinator.groups.service import GroupService
from oncelog.coordinator.share.persister import SharePersister
from oncelog.coordinator.txn.producer_ids import kept_in
from oncelog.coordinator.txn.service import TxnService
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.log.flush import Flusher

if TYPE_CHECKING:
    from oncelog.broker.auth.sasl import SaslConfig
    from oncelog.broker.net.connection import Handles
    from oncelog.broker.topics.at_start import WantedTopic

    Around = Callable[[Handles, BrokerContext], Handles]  # what is to stand between the connections and the handlers


PIECE_MS = 20.0  # between two pieces of work that is cut: a log being compacted, the folders of a topic being renamed
MAINTENANCE_MS = 1_000  # how often storage is offered a turn for its chores
IDLE_CHECK_MS = 10_000
DEFAULT_FILES = 1_024


class Broker:
    """Everything of one running broker. `start`, then `stop`; a simulation drives `tick` itself."""

    def __init__(
        self,
        env: Env,
        data_dir: Path,
        config: BrokerConfig,
        flusher: Flusher,
        files: FileLimits | None = None,
        *,
        accept_data_loss: bool = False,
        around: Around | None = None,
        topics: Sequence[WantedTopic] = (),
    ) -> None:
        """`around`: what is to stand between the connections and the handlers; `topics`: to be made before the first client."""
        self.env = env
        self._around = around
        self.config = config
        self._wanted_topics = topics
        self._files = files if files is not None else shares(DEFAULT_FILES)
        self.listeners: list[Listener] = []
        self.apis = ApiRegistry(unstable=config.server.unstable_api_versions or config.txn.two_phase_commit_enable)
        self.context = BrokerContext()
        self.wakeups = Wakeups(self.tick)
        self._next_maintenance_ms = 0.0
        self._next_idle_check_ms = 0.0
        self._opened = False  # the data directory is ours and completely read
        self._request_memory: RequestMemory | None = None  # from when clients are served
        self.logs = LogManager(
            env,
            data_dir,
            config.log,
            flusher,
            node_id=config.server.node_id if {"node.id", "broker.id"} & config.values.keys() else None,
            cluster_id=config.server.cluster_id or None,
            max_open_files=self._files.logs,
            accept_data_loss=accept_data_loss,
        )

    # -- start

    def recover(self) -> None:
        """Open the data directory and bring every coordinator to the state its records add up to. Raises OSError, KafkaError."""
        context, env, config = self.context, self.env, self.config
        self.logs.start()
        self._opened = True
        context.env, context.config, context.logs = env, config, self.logs
        context.node_id, context.cluster_id = self.logs.node_id, self.logs.cluster_id
        context.store = self.logs.store
        context.apis = self.apis
        context.fetch_sessions = FetchSessions(config.server.fetch_session_slots, env.random)
        context.metadata = MetadataCache(self.logs.topics, context.node_id)
        context.turns = Turns()
        self._build_security()
        self._build_coordinators()

    def _build_security(self) -> None:
        from oncelog.broker.auth.scram import ScramCredentials
        from oncelog.broker.auth.setup import new_authorizer
        from oncelog.broker.settings.client_quotas import ClientQuotas
        from oncelog.broker.settings.dynamic import DynamicConfig

        context = self.context
        context.authorizer = new_authorizer(self.config.auth, context.store)
        context.scram_credentials = ScramCredentials(context.store)
        context.client_quotas = ClientQuotas(context.store)
        context.dynamic_configs = DynamicConfig(context.store, self.logs, self.config.values, SECTIONS, context.node_id)
        context.dynamic_configs.in_force({"log.dirs": str(self.logs.data_dir)})
        context.dynamic_configs.on_broker_change(lambda _values: self._reconfigure())
        if context.store.section("broker_configs"):
            self.logs.update_defaults(context.dynamic_configs.log_config())

    def _build_coordinators(self) -> None:
        context = self.context
        context.transactions = TxnService(self.env, self.logs, self.config.txn, kept_in(context.store))
        context.persister = SharePersister(self.env, self.logs, self.config.share)
        context.groups = GroupService(self.env, self.logs, self.config.group, self.config.share_group, context.persister)
        context.groups.overrides = context.dynamic_configs.group_values
        context.groups.on_share_reset = lambda key: context.sharing.forget(key)
        context.sharing = Sharing(
            self.env.clock,
            self.logs,
            context.persister,
            context.turns,
            lambda group_id: context.groups.overrides(group_id),
            self.config.share_group,
            self.wakeups.within,
        )
        context.transactions.on_offsets_marker(context.groups.replay_marker)
        context.persister.start()
        context.causes = Causes()
        context.groups.on_rebalance = context.causes.rebalanced
        context.transactions.on_fenced = context.causes.fenced
        context.groups.start()
        context.transactions.start()
        context.transactions.verifies_partitions = context.dynamic_configs.txn_config().partition_verification_enable
        context.transactions.on_earlier(self._wake_at)
        context.groups.on_earlier(self._wake_at)
        context.persister.on_earlier(self._wake_at)
        self.logs.on_topic_deleted.append(context.persister.on_topic_deleted)
        self.logs.on_topic_deleted.append(context.groups.on_topic_deleted)
        self.logs.on_topic_deleted.append(lambda _name: self.wakeups.within(PIECE_MS))  # its folders may be many

    def _reconfigure(self) -> None:
        """Take over what was altered while we run."""
        configs = self.context.dynamic_configs
        self.logs.update_defaults(configs.log_config())
        self.context.transactions.verifies_partitions = configs.txn_config().partition_verification_enable

    async def start(self) -> None:
        """Recover, then accept; a start that fails leaves nothing open. Raises OSError, KafkaError."""
        try:
            self.recover()
            await self._accept()
        except BaseException:
            for listener in self.listeners:
                listener.drop()
            self.close()
            raise

    async def _accept(self) -> None:
        if self._wanted_topics:
            from oncelog.broker.topics.at_start import make_topics

            make_topics(self._wanted_topics, self.context)
        handler: Handles = RequestHandler(self.context, self.apis)
        if self._around is not None:
            handler = self._around(handler, self.context)
        shared = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        server = self.config.server
        limit = server.queued_max_request_bytes if server.queued_max_request_bytes > 0 else server.max_frame_bytes
        memory = self._request_memory = RequestMemory(limit, self.env.clock.monotonic_ms)
        unread, backlog = UnreadAnswers(server.queued_max_answer_bytes), Backlog()
        quotas = ConnectionQuotas(
            server.max_connections,
            max_sockets=self._files.connections,
            per_ip=server.max_connections_per_ip,
            per_ip_overrides=resolved(parse_overrides(server.max_connections_per_ip_overrides)),
        )
        for config in self.config.listeners:
            listener = self._listener(config, handler, shared, memory, unread, backlog, quotas)
            await listener.open()
            self.listeners.append(listener)
        self._tell_addresses()
        if self.config.log.flush_on_ack:
            self.logs.journal.want()
        self.wakeups.start()

    def _tell_addresses(self) -> None:
        """Have DescribeConfigs show the addresses in force, with the ports that were free."""
        bound = [Endpoint(listener.name, listener.config.host, listener.port) for listener in self.listeners]
        told = []
        for name, host, port in bound:
            named_host, named_port = self.config.advertised.get(name, ("", 0))
            told.append(Endpoint(name, named_host or host, named_port or port))
        self.context.dynamic_configs.in_force({"listeners": ",".join(map(str, bound)), "advertised.listeners": ",".join(map(str, told))})

    def _listener(
        self,
        config: ListenerConfig,
        handler: Handles,
        shared: memoryview,
        memory: RequestMemory,
        unread: UnreadAnswers,
        backlog: Backlog,
        quotas: ConnectionQuotas,
    ) -> Listener:
        tls = map_principal = None
        if config.security.endswith("SSL"):
            from oncelog.broker.auth.config import AuthConfig, listener_values
            from oncelog.broker.auth.tls import peer_principal, principal_mapper, server_context
            from oncelog.protocol.config_def import parse_config

            tls = server_context(self.config.values, config.name)
            own = parse_config(AuthConfig, listener_values(self.config.values, config.name))
            if config.security == "SSL":
                map_principal = partial(peer_principal, mapper=principal_mapper(own.ssl_principal_mapping_rules))

        return Listener(
            config,
            handler,
            max_frame_bytes=self.config.server.max_frame_bytes,
            quotas=quotas,
            tls=tls,
            map_principal=map_principal,
            sasl=self._sasl(config) if config.security.startswith("SASL") else None,
            receive_buffer=shared,
            request_memory=memory,
            unread=unread,
            backlog=backlog,
        )

    def _sasl(self, config: ListenerConfig) -> SaslConfig:
        from oncelog.broker.auth.setup import new_sasl_config

        return new_sasl_config(self.config.values, config.name, self.context.scram_credentials)

    # -- run

    def tick(self) -> float:
        """Do what is due; milliseconds until there may be more."""
        now = self.env.clock.monotonic_ms()
        wall = self.tick_coordinators()
        self.context.sharing.tick(now)
        if self._request_memory is not None:
            self._request_memory.tick()
        if self.logs.folders.busy:
            self.logs.folders.rename_some()
        if now >= self._next_maintenance_ms:
            self._next_maintenance_ms = now + MAINTENANCE_MS
            self.logs.maintenance(wall)
            if self.logs.cleaning:
                self._next_maintenance_ms = self.env.clock.monotonic_ms() + PIECE_MS
        if now >= self._next_idle_check_ms:
            self._next_idle_check_ms = now + IDLE_CHECK_MS
            for listener in self.listeners:
                listener.reap_idle(now, self.config.server.connections_max_idle_ms)
        return max(0.0, min(self._waits_ms()))

    def tick_coordinators(self) -> int:
        """The part of it that is theirs; the time of day."""
        wall = self.env.clock.time_ms()  # their deadlines stand in records, so they are times of day
        self.context.transactions.tick(wall)
        self.context.groups.tick(wall)
        self.context.persister.tick(wall)
        return wall

    def _waits_ms(self) -> Iterator[float]:
        """How long everybody has until there is something to do."""
        now, wall = self.env.clock.monotonic_ms(), self.env.clock.time_ms()
        yield self._next_maintenance_ms - now
        yield self._next_idle_check_ms - now
        if self.logs.folders.busy:
            yield PIECE_MS
        for service in (self.context.transactions, self.context.groups, self.context.persister):
            if (deadline := service.next_deadline_ms()) is not None:
                yield deadline - wall
        for part in (self._request_memory, self.context.sharing):
            if part is not None and (deadline := part.next_deadline_ms()) is not None:
                yield deadline - now

    def next_deadline_ms(self) -> float | None:
        """How long until something is due that is no chore of storage; None: nothing is."""
        wall = self.env.clock.time_ms()
        services = (self.context.transactions, self.context.groups, self.context.persister)
        waits = [deadline - wall for service in services if (deadline := service.next_deadline_ms()) is not None]
        if (deadline := self.context.sharing.next_deadline_ms()) is not None:
            waits.append(deadline - self.env.clock.monotonic_ms())
        return max(0.0, min(waits)) if waits else None

    async def catch_up(self) -> None:
        """Do what is due now, and all of the chores of storage that are, however long they take."""
        self._next_maintenance_ms = 0.0
        self.tick()
        while self.logs.chores.busy:
            await asyncio.sleep(0)  # what a chore waits for is told by the loop
            self.logs.maintenance(self.env.clock.time_ms())

    def _wake_at(self, deadline_ms: float) -> None:
        """A coordinator has something to do before anything else was; `deadline_ms` is a time of day."""
        self.wakeups.within(deadline_ms - self.env.clock.time_ms())

    # -- stop

    async def stop(self) -> None:
        """Accept no more, answer nothing more, leave a directory that needs no recovery."""
        self.wakeups.stop()
        for listener in self.listeners:
            await listener.close()
        self.close()

    def drop(self) -> None:
        """As the death of the process, within one turn: every socket is closed, nothing is answered and nothing written."""
        self.wakeups.stop()
        if self._opened:
            self.context.sharing.stop()
        for listener in self.listeners:
            listener.drop()
        self.logs.release_lock()

    def close(self) -> None:
        """The part of `stop` that needs no loop. A directory that could not be opened is left as it is: it may be another broker's."""
        if self._opened:
            self._opened = False
            self.context.turns.close()
            self.logs.stop()
