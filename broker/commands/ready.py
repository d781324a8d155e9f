"""`oncelog ready`: does a broker serve? ApiVersions, behind TLS and SASL where they are asked for, repeated until the time is up.

Without an address it is the health check of an image: what the container was started with says whom to ask, `/readyz` of the control port
or the listener that asks least of a client.
"""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import urlsplit

from cyclopts import Parameter
from oncelog.broker.commands.client.numbers import SecondsOrNone
from oncelog.broker.commands.client.options import Connection, Mechanism, Protocol
from oncelog.broker.commands.client.wire import ConnectFailure, Security, WireClient, parse_address
from oncelog.broker.ending import REFUSED, USAGE, tell
from oncelog.protocol.errors import KafkaError

PAUSE_SECONDS = 0.05
ANSWER_SECONDS = 2.0
FIRST_PROCESS = Path("/proc/1/cmdline")


def ready(
    *,
    bootstrap: Annotated[str | None, Parameter(env_var="ONCELOG_BOOTSTRAP")] = None,
    timeout: SecondsOrNone = 0.0,
    security_protocol: Annotated[Protocol | None, Parameter(env_var="ONCELOG_SECURITY_PROTOCOL")] = None,
    sasl_mechanism: Annotated[Mechanism, Parameter(env_var="ONCELOG_SASL_MECHANISM")] = "SCRAM-SHA-256",
    username: Annotated[str | None, Parameter(env_var="ONCELOG_USERNAME")] = None,
    password: Annotated[str | None, Parameter(env_var="ONCELOG_PASSWORD")] = None,
    ca: Annotated[Path | None, Parameter(env_var="ONCELOG_CA")] = None,
    cert: Annotated[Path | None, Parameter(env_var="ONCELOG_CERT")] = None,
    insecure: Annotated[bool, Parameter(negative=(), env_var="ONCELOG_INSECURE")] = False,
) -> int:
    """Exit with 0 as soon as a broker serves, with 1 when it does not in time.

    Parameters
    ----------
    bootstrap
        host:port of the broker. Default: where the KAFKA_ variables, or what runs as process 1, have it listen; else 127.0.0.1:9092.
    timeout
        Seconds to wait for it; 0 asks once.
    security_protocol
        Follows from the other options when it is not given.
    username
        Logs in; a listener with SASL says that it serves without.
    ca
        PEM file with the authorities that the broker's certificate may come from.
    cert
        PEM file with a client certificate and its key.
    insecure
        Do not check the broker's certificate.
    """
    connection = Connection(
        security_protocol=security_protocol,
        sasl_mechanism=sasl_mechanism,
        username=username,
        password=password,
        ca=ca,
        cert=cert,
        insecure=insecure,
    )
    try:
        where, ask = _own_broker(connection) if bootstrap is None else _listener(bootstrap, connection)
    except ValueError as error:
        return tell(str(error), USAGE)
    except KafkaError as error:  # settings with which no broker starts
        return tell(error.message or error.code.name, REFUSED)
    deadline = time.monotonic() + timeout
    while True:
        problem = ask()
        if problem is None:
            return 0
        if time.monotonic() >= deadline:
            return tell(f"{where} does not serve: {problem}", REFUSED)
        time.sleep(PAUSE_SECONDS)


_Question = tuple[str, Callable[[], str | None]]
"""Who is asked, and how: what is wrong, None when it serves."""


def _listener(bootstrap: str, connection: Connection) -> _Question:
    host, port = parse_address(bootstrap)
    return bootstrap, partial(_ask, host, port, connection.security())


def _own_broker(given: Connection) -> _Question:
    """Raises KafkaError(INVALID_CONFIG) for settings that a broker would refuse."""
    from oncelog.broker.settings.own_address import own_address

    values = _own_settings(os.environ)
    if control := values.get("control.listener"):
        url = urlsplit(control)
        host = "127.0.0.1" if url.hostname in (None, "0.0.0.0") else url.hostname
        return f"{control}/readyz", partial(_ask_control, host, url.port or 0)
    if given.security_protocol is not None:
        address = own_address(values, (given.security_protocol,))
    elif given.username is not None:
        address = own_address(values, ("SASL_PLAINTEXT", "SASL_SSL"))
    else:
        address = own_address(values)
    security = address.security if given.username is not None else address.security.removeprefix("SASL_")  # a login is not needed to ask
    unchecked = security == "SSL" and given.ca is None  # nothing secret is sent, and a certificate may name other hosts than this
    asked = replace(given, security_protocol=cast(Protocol, security), insecure=given.insecure or unchecked)
    return str(address), partial(_ask, address.host, address.port, asked.security())


def _own_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Settings by Kafka's names of the broker that runs as process 1, or would with this environment."""
    from oncelog.broker.commands.serve import plain_arguments
    from oncelog.broker.settings.start import start_configs

    given = plain_arguments(_serves(FIRST_PROCESS)) or {}
    port, host, control = (given.get(name) for name in ("port", "host", "control"))
    return start_configs(port, host, given.get("config"), given.get("override", ()), False, environment, control)


def _serves(command_line: Path) -> list[str]:
    """What stands behind `oncelog serve`; nothing when it is another command."""
    try:
        words = [os.fsdecode(word) for word in command_line.read_bytes().split(b"\0")[:-1]]
    except OSError:
        return []
    before = [number for number, word in enumerate(words[:-1]) if Path(word).name == "oncelog" and words[number + 1] == "serve"]
    return words[before[0] + 2 :] if before else []


def _ask_control(host: str, port: int) -> str | None:
    control = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        control.request("GET", "/readyz")
        answer = control.getresponse()
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "strerror", None) or error or type(error).__name__)
    finally:
        control.close()
    return None if answer.status == http.client.OK else f"it answered {answer.status} {answer.reason}"


def _ask(host: str, port: int, security: Security) -> str | None:
    try:
        WireClient(host, port, security=security, timeout_s=ANSWER_SECONDS).connect().close()
    except ConnectFailure as failure:
        return failure.why
    return None
