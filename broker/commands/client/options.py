"""The options that every command against a broker shares, and how it ends when the broker refuses or cannot be reached."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.numbers import Seconds
from oncelog.broker.commands.client.output import UNREACHABLE, USAGE, Format, fail
from oncelog.broker.commands.client.wire import AddressError, ConnectFailure, Security
from oncelog.protocol.errors import KafkaError

_GROUP = Group("Connection", sort_key=100)
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Connection:
    """Where the brokers are and how to talk to them."""

    bootstrap: Annotated[str, Parameter(group=_GROUP, env_var="ONCELOG_BOOTSTRAP", help="Brokers to ask first: HOST:PORT[,HOST:PORT].")] = (
        "localhost:9092"
    )
    format: Annotated[Format, Parameter(group=_GROUP, help="What to print on standard output.")] = Format.TABLE
    timeout_s: Annotated[Seconds, Parameter(name="--timeout", group=_GROUP, help="Seconds to wait for an answer.")] = 10.0
    security_protocol: Annotated[Protocol | None, Parameter(group=_GROUP, env_var="ONCELOG_SECURITY_PROTOCOL")] = None
    sasl_mechanism: Annotated[Mechanism, Parameter(group=_GROUP, env_var="ONCELOG_SASL_MECHANISM")] = "SCRAM-SHA-256"
    username: Annotated[str | None, Parameter(group=_GROUP, env_var="ONCELOG_USERNAME")] = None
    password: Annotated[
        str | None,
        Parameter(group=_GROUP, env_var="ONCELOG_PASSWORD", help="Better given in the environment, where others cannot read it."),
    ] = None
    ca: Annotated[
        Path | None, Parameter(group=_GROUP, help="PEM file with the authorities that the broker's certificate may come from.")
    ] = None
    cert: Annotated[Path | None, Parameter(group=_GROUP, help="PEM file with a client certificate and its key.")] = None
    insecure: Annotated[bool, Parameter(group=_GROUP, negative=(), help="Do not check the broker's certificate.")] = False

    def security(self) -> Security:
        """TLS and SASL as asked for; the protocol follows from the other options when it is not given."""
        protocol = self.security_protocol or self._implied_protocol()
        tls = self._tls() if protocol.endswith("SSL") else None
        if not protocol.startswith("SASL"):
            return Security(tls=tls)
        if self.username is None or self.password is None:
            fail(f"{protocol} needs --username and --password", USAGE)
        return Security(tls=tls, mechanism=self.sasl_mechanism, username=self.username, password=self.password)

    @contextmanager
    def open(self) -> Iterator[Cluster]:
        """The cluster. A refusal or a connection that fails inside the block ends the command."""
        with refusals_end_the_command(), Cluster(self.bootstrap, security=self.security(), timeout_s=self.timeout_s) as cluster:
            yield cluster

    def _implied_protocol(self) -> Protocol:
        tls = self.ca is not None or self.cert is not None or self.insecure
        if self.username is not None:
            return "SASL_SSL" if tls else "SASL_PLAINTEXT"
        return "SSL" if tls else "PLAINTEXT"

    def _tls(self) -> ssl.SSLContext:
        try:
            file = self.ca
            context = ssl.create_default_context(cafile=file)
            if self.cert is not None:
                file = self.cert
                context.load_cert_chain(file)
        except OSError as error:  # ssl.SSLError is one
            fail(f"certificate {file} cannot be used: {getattr(error, 'reason', None) or error.strerror or error}", USAGE)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


DEFAULT = Connection()


@contextmanager
def refusals_end_the_command() -> Iterator[None]:
    """A KafkaError becomes exit status 1, a ConnectFailure 3, a bad address 2."""
    try:
        yield
    except AddressError as wrong:
        fail(str(wrong), USAGE)
    except ConnectFailure as failure:
        fail(f"{failure}\n       `oncelog doctor --bootstrap …` looks for the cause", UNREACHABLE)
    except KafkaError as error:
        fail(f"{error} ({error.code.name})" if error.message and error.code.name not in error.message else str(error))
