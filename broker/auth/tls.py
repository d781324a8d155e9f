"""TLS for listeners: an `ssl.SSLContext` from Kafka's option names, and the principal of a client certificate.

Key and trust stores are PEM (KIP-651): a file (`ssl.keystore.location`) or text in the settings (`ssl.keystore.key`,
`ssl.keystore.certificate.chain`). Java's own formats are refused with the command that converts them.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncelog.broker.auth.config import AuthConfig, listener_values
from oncelog.broker.auth.mechanisms import ANONYMOUS
from oncelog.protocol.config_def import parse_config
from oncelog.protocol.errors import ErrorCode, KafkaError

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PEM_HELP = "convert it: openssl pkcs12 -in STORE.p12 -nodes -out STORE.pem, and set the type to PEM"
_RULE = re.compile(r"RULE:((?:\\.|[^/\\])*)/((?:\\.|[^/\\])*)/([LU]?)|DEFAULT")
_SHORT_NAMES = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
# attributes that RFC 2253 has no short name for: number, and the type of string they are encoded as (UTF-8 where there is a choice)
_IA5, _PRINTABLE, _UTF8 = 0x16, 0x13, 0x0C
_NUMBERED = {
    "emailAddress": ("1.2.840.113549.1.9.1", _IA5),
    "serialNumber": ("2.5.4.5", _PRINTABLE),
    "dnQualifier": ("2.5.4.46", _PRINTABLE),
    "surname": ("2.5.4.4", _UTF8),
    "givenName": ("2.5.4.42", _UTF8),
    "title": ("2.5.4.12", _UTF8),
    "pseudonym": ("2.5.4.65", _UTF8),
    "organizationIdentifier": ("2.5.4.97", _UTF8),
}

MapPrincipal = Callable[[str], str]


def server_context(values: Mapping[str, str], listener: str) -> ssl.SSLContext:
    """The context of `listener`, from the raw settings. Raises KafkaError(INVALID_CONFIG) that says what is missing."""
    config = parse_config(AuthConfig, listener_values(values, listener))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = sorted(_VERSIONS[name] for name in config.ssl_enabled_protocols)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    if config.ssl_cipher_suites:
        _set_ciphers(context, config.ssl_cipher_suites)
    _load_key(context, config, listener)
    _load_trust(context, config, listener)
    return context


class NoMatchingRule(Exception):
    """A client's certificate stands for no user."""


def principal_mapper(rules: str) -> MapPrincipal:
    """Distinguished name -> user name by `ssl.principal.mapping.rules` (`SslPrincipalMapper`): the first rule that matches counts.

    A rule that does not match leaves the name to the next. The mapper raises NoMatchingRule when none does: no user may be guessed.
    """
    parsed = [None if m[0] == "DEFAULT" else (re.compile(m[1]), _to_python_groups(m[2]), m[3]) for m in _RULE.finditer(rules)]
    if not parsed and rules.strip():
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"ssl.principal.mapping.rules: invalid rule {rules}")

    def mapped(name: str) -> str:
        for rule in parsed:
            if rule is None:
                return name
            pattern, replacement, case = rule
            if pattern.fullmatch(name):
                user = pattern.sub(replacement, name, count=1)
                return user.lower() if case == "L" else user.upper() if case == "U" else user
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules applies to {name}")

    return mapped


def peer_principal(certificate: Mapping[str, Any] | None, mapper: MapPrincipal) -> str:
    """The principal of a client certificate (`SSLSocket.getpeercert()`): "User:CN=...,O=...", ANONYMOUS without one.

    Raises NoMatchingRule.
    """
    return f"User:{mapper(distinguished_name(certificate))}" if certificate else ANONYMOUS


def distinguished_name(certificate: Mapping[str, Any]) -> str:
    """The subject in RFC 2253 form as Java prints it (`X500Principal.getName`): last part first, short names, others by number."""
    parts: list[str] = []
    for relative in reversed(certificate.get("subject", ())):
        parts.append("+".join(_attribute(name, value) for name, value in relative))
    return ",".join(parts)


def _attribute(name: str, value: str) -> str:
    if name in _NUMBERED:
        number, tag = _NUMBERED[name]
        text = value.encode()
        size = len(text).to_bytes((len(text).bit_length() + 7) // 8 or 1, "big")
        length = size if len(text) < 0x80 else bytes([0x80 | len(size)]) + size
        return f"{number}=#{(bytes([tag]) + length + text).hex()}"
    return f"{_SHORT_NAMES.get(name, name)}={_escaped(value)}"


def _load_key(context: ssl.SSLContext, config: AuthConfig, listener: str) -> None:
    password = config.ssl_key_password
    if config.ssl_keystore_key and config.ssl_keystore_certificate_chain:
        pem = f"{config.ssl_keystore_key}\n{config.ssl_keystore_certificate_chain}\n"
        with _as_file(pem) as path, _explained(listener, "the key and certificate chain in the settings"):
            context.load_cert_chain(path, password=password)
        return
    location = config.ssl_keystore_location
    if location is None:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"listener {listener} speaks TLS and needs a key: ssl.keystore.type=PEM and ssl.keystore.location=FILE.pem",
        )
    _must_be_pem("ssl.keystore", config.ssl_keystore_type, location)
    with _explained(listener, location):
        context.load_cert_chain(location, password=password)


def _load_trust(context: ssl.SSLContext, config: AuthConfig, listener: str) -> None:
    location = config.ssl_truststore_location
    if config.ssl_truststore_certificates:
        with _explained(listener, "ssl.truststore.certificates"):
            context.load_verify_locations(cadata=config.ssl_truststore_certificates)
    elif location is not None:
        _must_be_pem("ssl.truststore", config.ssl_truststore_type, location)
        with _explained(listener, location):
            context.load_verify_locations(location)
    elif config.ssl_client_auth != "none":
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = _CLIENT_AUTH[config.ssl_client_auth]


def _must_be_pem(setting: str, kind: str, location: str) -> None:
    # a file that plainly is PEM is taken even when the type was left at its default, JKS
    if kind.upper() != "PEM" and not location.endswith((".pem", ".crt", ".key")):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}.type {kind} is not served, only PEM; {_PEM_HELP}")


def _set_ciphers(context: ssl.SSLContext, suites: tuple[str, ...]) -> None:
    """A version of TLS of which no suite is named is off. Python's ssl module cannot choose between those of TLS 1.3."""
    older = [_openssl_name(suite) for suite in suites if not _is_of_tls_1_3(suite)]
    try:
        if not older:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        else:
            context.set_ciphers(":".join(older))
        if len(older) == len(suites):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
    except ssl.SSLError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"ssl.cipher.suites: {error}") from error
    if context.minimum_version > context.maximum_version:
        raise KafkaError(ErrorCode.INVALID_CONFIG, "ssl.cipher.suites names none of the versions in ssl.enabled.protocols")


def _is_of_tls_1_3(suite: str) -> bool:
    return suite.startswith("TLS_") and "_WITH_" not in suite


def _openssl_name(suite: str) -> str:
    """OpenSSL's name for a suite of TLS 1.2 by its IANA name, which Kafka's settings use (not of ARIA, which Java has not)."""
    exchange, found, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not found:
        return suite
    cipher = re.sub(r"(AES|CAMELLIA)_(\d+)", r"\1\2", cipher).replace("_CBC", "").replace("CCM_8", "CCM8")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    return (cipher if exchange == "RSA" else f"{exchange}_{cipher}").replace("_", "-")


@contextmanager
def _explained(listener: str, source: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"listener {listener}: {source} cannot be used: {error}") from error


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """`pem` in a file that only we can read, for as long as needed: OpenSSL takes keys from files only."""
    handle, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(pem)
        yield path
    finally:
        os.unlink(path)


def _to_python_groups(replacement: str) -> str:
    return re.sub(r"\$(\d+)", r"\\g<\1>", replacement)


def _escaped(value: str) -> str:
    """Blanks are escaped at both ends only."""
    inner = value.strip(" ")
    lead, trail = (0, len(value)) if not inner else (value.index(inner[0]), len(value) - len(value.rstrip(" ")))
    text = re.sub(r'([,=+<>#;"\\])', r"\\\1", inner).replace("\0", "\\00")
    return "\\ " * lead + text + "\\ " * trail
