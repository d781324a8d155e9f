"""Client settings by their names in Java's clients and in librdkafka's, as `--client-property NAME=VALUE` gives them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oncelog.broker.auth.jaas import parse_jaas
from oncelog.broker.commands.client.wire import Security
from oncelog.protocol.errors import KafkaError

KNOWN = (
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.jaas.config",
    "ssl.ca.location",
    "ssl.truststore.location",
    "ssl.certificate.location",
    "ssl.keystore.location",
    "ssl.key.location",
    "ssl.key.password",
    "enable.ssl.certificate.verification",
    "ssl.endpoint.identification.algorithm",
)
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class BadProperty(ValueError):
    """The text says which, and what is right."""


class ClientSettings(NamedTuple):
    """What a `Cluster` is made of."""

    security: Security
    client_id: str
    timeout_s: float


def client_settings(texts: Sequence[str], client_id: str) -> ClientSettings:
    """Of NAME=VALUE texts; `client_id` unless they name another. Raises BadProperty."""
    given: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name.strip() not in KNOWN:
            raise BadProperty(f"--client-property {name!r}: NAME=VALUE, with one of the names {', '.join(KNOWN)}")
        given[name.strip()] = value.strip()
    return ClientSettings(_security(given), given.get("client.id", client_id), _timeout_s(given))


def _timeout_s(given: Mapping[str, str]) -> float:
    text = given.get("request.timeout.ms", "10000")
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 3_600_000):
        raise BadProperty(f"request.timeout.ms={text!r} is no number of milliseconds up to an hour")
    return int(text) / 1000


def _security(given: Mapping[str, str]) -> Security:
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise BadProperty(f"security.protocol={protocol!r} is none of {', '.join(_PROTOCOLS)}")
    tls = _tls(given) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Security(tls=tls)
    mechanism = given.get("sasl.mechanism", given.get("sasl.mechanisms", "")).upper()
    if mechanism not in _MECHANISMS:
        raise BadProperty(f"sasl.mechanism={mechanism!r} is none of {', '.join(_MECHANISMS)}")
    username, password = _credentials(given)
    return Security(tls=tls, mechanism=mechanism, username=username, password=password)


def _credentials(given: Mapping[str, str]) -> tuple[str, str]:
    options: Mapping[str, str] = {}
    if "sasl.jaas.config" in given:
        try:
            options = parse_jaas(given["sasl.jaas.config"]).options
        except KafkaError as wrong:
            raise BadProperty(wrong.message or "sasl.jaas.config cannot be read") from None
    username = given.get("sasl.username", options.get("username"))
    password = given.get("sasl.password", options.get("password"))
    if username is None or password is None:
        raise BadProperty("SASL needs sasl.username and sasl.password, or sasl.jaas.config with both")
    return username, password


def _tls(given: Mapping[str, str]) -> ssl.SSLContext:
    authorities = given.get("ssl.ca.location", given.get("ssl.truststore.location"))
    own = given.get("ssl.certificate.location", given.get("ssl.keystore.location"))
    file = authorities
    try:
        context = ssl.create_default_context(cafile=authorities)
        if own is not None:
            file = own
            context.load_cert_chain(own, given.get("ssl.key.location"), given.get("ssl.key.password"))
    except OSError as error:  # ssl.SSLError is one
        why = getattr(error, "reason", None) or error.strerror or str(error)
        raise BadProperty(f"{file} cannot be used ({why}); certificates and keys are PEM files here") from None
    if given.get("ssl.endpoint.identification.algorithm") == "":
        context.check_hostname = False
    if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
