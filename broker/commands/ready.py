"""`oncelog ready`: does a broker serve? ApiVersions, behind TLS and SASL where they are asked for, repeated until the time is up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from oncelog.broker.commands.client.numbers import SecondsOrNone
from oncelog.broker.commands.client.options import Connection, Mechanism, Protocol
from oncelog.broker.commands.client.wire import ConnectFailure, Security, WireClient, parse_address
from oncelog.broker.ending import REFUSED, USAGE, tell

PAUSE_SECONDS = 0.05
ANSWER_SECONDS = 2.0


def ready(
    *,
    bootstrap: Annotated[str, Parameter(env_var="ONCELOG_BOOTSTRAP")] = "127.0.0.1:9092",
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
        host:port of the broker.
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
    try:
        host, port = parse_address(bootstrap)
    except ValueError as error:
        return tell(str(error), USAGE)
    security = Connection(
        security_protocol=security_protocol,
        sasl_mechanism=sasl_mechanism,
        username=username,
        password=password,
        ca=ca,
        cert=cert,
        insecure=insecure,
    ).security()
    deadline = time.monotonic() + timeout
    while True:
        problem = _ask(host, port, security)
        if problem is None:
            return 0
        if time.monotonic() >= deadline:
            return tell(f"{bootstrap} does not serve: {problem}", REFUSED)
        time.sleep(PAUSE_SECONDS)


def _ask(host: str, port: int, security: Security) -> str | None:
    try:
        WireClient(host, port, security=security, timeout_s=ANSWER_SECONDS).connect().close()
    except ConnectFailure as failure:
        return failure.why
    return None
