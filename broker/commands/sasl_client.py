"""The client's side of SASL PLAIN and SCRAM, as a generator: it yields a token, is sent the broker's challenge, and returns when done."""

from __future__ import annotations

from collections.abc import Generator

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
Conversation = Generator[bytes, bytes, None]


class SaslClientError(Exception):
    """The broker's side of the conversation is not what the mechanism asks for."""


def conversation(mechanism: str, username: str, password: str) -> Conversation:
    """Tokens to send. Raises SaslClientError when the mechanism is not spoken or the broker cannot prove that it knows the password."""
    if mechanism == "PLAIN":
        return _plain(username, password)
    if mechanism not in MECHANISMS:
        raise SaslClientError(f"{mechanism} is not spoken here, only {', '.join(MECHANISMS)}")
    return _scram(mechanism, username, password)


def _plain(username: str, password: str) -> Conversation:
    yield f"\0{username}\0{password}".encode()


def _scram(mechanism: str, username: str, password: str) -> Conversation:
    from scramp import ScramClient, ScramException

    try:
        client = ScramClient([mechanism], username, password)
        server_first = yield client.get_client_first().encode()
        client.set_server_first(server_first.decode())
        server_final = yield client.get_client_final().encode()
        client.set_server_final(server_final.decode())
    except ScramException as error:
        raise SaslClientError(f"the broker's {mechanism} answer is not valid: {error}") from error
