"""A listener with SASL and TLS on a real socket, its loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from oncelog.broker.auth.authorizer import Authorizer
from oncelog.broker.auth.sasl import SaslConfig
from oncelog.broker.auth.scram import ScramCredentials, ScramMechanism, credential_of, salted_password
from oncelog.broker.auth.tls import peer_principal, principal_mapper, server_context
from oncelog.broker.commands.client.wire import Security, WireClient
from oncelog.broker.commands.serve import new_loop
from oncelog.broker.context import BrokerContext
from oncelog.broker.net.connection_quotas import ConnectionQuotas
from oncelog.broker.net.dispatch import ApiRegistry
from oncelog.broker.net.listener import Listener
from oncelog.broker.net.requests import RequestHandler
from oncelog.broker.settings.listeners import ListenerConfig
from oncelog.broker.settings.load import load
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.storage.env import system_env

from support.memory_store import MemoryStore, written

SALT = b"0123456789abcdef"


class Running:
    """One listener on a free port, its loop in a thread of its own."""

    def __init__(
        self,
        *,
        security: str = "SASL_PLAINTEXT",
        max_reauth_ms: int = 0,
        tls: dict[str, str] | None = None,
        quotas: ConnectionQuotas | None = None,
    ) -> None:
        self.context = BrokerContext()
        self.context.env = system_env()
        self.context.store = MemoryStore()  # type: ignore[assignment]
        self.context.config = load({})
        self.context.apis = apis = ApiRegistry()
        self.context.authorizer = Authorizer(self.context.store, ("User:alice", "User:CN=localhost"))
        self.context.scram_credentials = credentials = ScramCredentials(self.context.store)
        for mechanism in ScramMechanism:
            salted = salted_password(mechanism, "secret", SALT, 4096)
            credentials.begin_set("alice", mechanism, credential_of(mechanism, SALT, 4096, salted), written)
        mechanisms = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
        sasl = SaslConfig(
            mechanisms, {"alice": "secret", "bob": "x"}, credentials, dict.fromkeys(mechanisms, max_reauth_ms), failure_delay_ms=50
        )
        mapper = principal_mapper((tls or {}).get("ssl.principal.mapping.rules", "DEFAULT"))
        self.listener = Listener(
            ListenerConfig("L", "127.0.0.1", 0, security),
            RequestHandler(self.context, apis),
            max_frame_bytes=1 << 20,
            quotas=quotas or ConnectionQuotas(),
            tls=server_context(tls, "L") if tls else None,
            map_principal=(lambda certificate: peer_principal(certificate, mapper)) if security == "SSL" else None,
            sasl=sasl if security.startswith("SASL") else None,
        )
        self.loop = new_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.listener.open(), self.loop).result(5)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.listener.close(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def in_one_turn(self, happen: Callable[[], None]) -> None:
        """What `happen` does to its sockets, the listener hears of all at once."""
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            assert go_on.wait(10)

        self.loop.call_soon_threadsafe(hold)
        assert held.wait(10)
        happen()
        go_on.set()

    def count_turns(self) -> Callable[[], int]:
        """Has the loop count its turns from now on; the call says how many there have been."""
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            self.loop.call_soon(turn)

        self.loop.call_soon_threadsafe(turn)
        return lambda: turns

    def client(self, **security: Any) -> WireClient:
        return WireClient("127.0.0.1", self.listener.port, security=Security(**security), timeout_s=5)


def users(client: WireClient) -> int:
    """Error code of an administrative request: 0 for a super user, 31 for others."""
    return int(client.send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, messages.DescribeUserScramCredentialsRequest(users=None)).error_code)
