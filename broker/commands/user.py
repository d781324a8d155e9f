"""`oncelog user`: SCRAM credentials of users. The password is salted here; it never travels and is never stored."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators
from oncelog.broker.auth.scram import ScramMechanism, salted_password
from oncelog.broker.commands.client.cluster import check
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, show
from oncelog.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from oncelog.protocol.messages import AlterUserScramCredentialsRequest

app = App(name="user", help="Users that log in with SCRAM: list, set, delete.")
SALT_BYTES = 24
Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]


@app.command(name="list")
def list_users(*, connection: Connection = DEFAULT) -> None:
    """List users and their mechanisms."""
    from oncelog.protocol import messages

    with connection.open() as cluster:
        answer = cluster.any().send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, messages.DescribeUserScramCredentialsRequest(users=None))
        check(answer.error_code, answer.error_message)
    rows = [
        {"user": result.user, "mechanism": ScramMechanism(info.mechanism).sasl_name, "iterations": info.iterations}
        for result in answer.results
        for info in result.credential_infos
    ]
    show(rows, ["user", "mechanism", "iterations"], connection.format, nothing="no users")


@app.command(name="set")
def set_user(
    name: str,
    *,
    mechanism: Mechanism = "SCRAM-SHA-256",
    iterations: Annotated[int, Parameter(validator=validators.Number(gte=4096, lte=16384))] = 8192,
    new_password: Annotated[str | None, Parameter(env_var="ONCELOG_NEW_PASSWORD")] = None,
    connection: Connection = DEFAULT,
) -> None:
    """Create a user or change its password.

    Parameters
    ----------
    iterations
        Work to try one password, 4096 to 16384.
    new_password
        Asked for, or read from standard input, if not given.
    """
    from oncelog.protocol import messages

    chosen = _scram(mechanism)
    salt = secrets.token_bytes(SALT_BYTES)
    request = messages.AlterUserScramCredentialsRequest
    upsertion = request.ScramCredentialUpsertion(
        name=name,
        mechanism=chosen,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(chosen, new_password or _ask_password(name), salt, iterations),
    )
    _alter(connection, request(deletions=[], upsertions=[upsertion]))
    done(f"user {name} logs in with {mechanism}", connection.format, user=name, mechanism=mechanism)


@app.command
def delete(name: str, *, mechanism: Mechanism | None = None, connection: Connection = DEFAULT) -> None:
    """Remove a user's credentials.

    Parameters
    ----------
    mechanism
        Only this one; all of the user's if not given.
    """
    from oncelog.protocol import messages

    request = messages.AlterUserScramCredentialsRequest
    chosen = [_scram(mechanism)] if mechanism is not None else _mechanisms_of(connection, name)
    for each in chosen:
        _alter(connection, request(deletions=[request.ScramCredentialDeletion(name=name, mechanism=each)], upsertions=[]))
    done(f"deleted user {name}", connection.format, deleted=name)


def _scram(mechanism: Mechanism) -> ScramMechanism:
    return ScramMechanism[mechanism.replace("-", "_")]


def _mechanisms_of(connection: Connection, name: str) -> list[ScramMechanism]:
    from oncelog.protocol import messages

    request = messages.DescribeUserScramCredentialsRequest
    with connection.open() as cluster:
        answer = cluster.any().send(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, request(users=[request.UserName(name=name)]))
        check(answer.error_code, answer.error_message)
        (result,) = answer.results
        check(result.error_code, result.error_message)
    return [ScramMechanism(info.mechanism) for info in result.credential_infos]


def _alter(connection: Connection, request: AlterUserScramCredentialsRequest) -> None:
    with connection.open() as cluster:
        for result in cluster.controller().send(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, request).results:
            check(result.error_code, result.error_message, about=f"user {result.user}")


def _ask_password(name: str) -> str:
    if sys.stdin.isatty():
        import getpass

        password = getpass.getpass(f"Password for {name}: ")
    else:
        try:
            password = sys.stdin.buffer.readline().decode().rstrip("\n")
        except UnicodeDecodeError:
            fail("the password on standard input is not UTF-8 text", USAGE)
    if not password:
        fail("the password must not be empty", USAGE)
    return password
