"""Configs of authentication, authorization and TLS: Kafka's names, also per listener and mechanism.

A listener's own value wins over the general one: `listener.name.<listener>.<mechanism>.sasl.jaas.config`, then
`listener.name.<listener>.<name>`, then `<name>` (`KafkaConfig.valuesWithPrefixOverride`; the listener's name in lower case).
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.protocol.config_def import BOOLEAN, INT, LIST, LONG, PASSWORD, STRING, config_class, option

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def _known_authorizer(value: str) -> str | None:
    return None if value in ("", STANDARD_AUTHORIZER) else f"only {STANDARD_AUTHORIZER} is served"


@config_class
class AuthConfig:
    """Who may connect and what they may do."""

    authorizer_class_name: str = option(
        "authorizer.class.name",
        STRING,
        "",
        f"The authorizer: empty (everything is allowed) or {STANDARD_AUTHORIZER}, whose rules are kept in the data directory.",
        validate=_known_authorizer,
    )
    super_users: str = option(
        "super.users",
        STRING,
        "",
        "Principals to whom everything is allowed, separated by semicolons: User:admin;User:ops.",
        sensitive=True,
    )
    allow_everyone_if_no_acl_found: bool = option(
        "allow.everyone.if.no.acl.found",
        BOOLEAN,
        False,
        "Whether a resource without any rule is open to all rather than to super users only.",
    )
    sasl_enabled_mechanisms: tuple[str, ...] = option(
        "sasl.enabled.mechanisms",
        LIST,
        ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
        "SASL mechanisms offered on SASL listeners. (Apache Kafka's default is GSSAPI, which is not served here.)",
        one_of=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    )
    sasl_jaas_config: str | None = option(
        "sasl.jaas.config",
        PASSWORD,
        None,
        'Users of PLAIN in JAAS form: org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret"; '
        "normally set per listener: listener.name.<listener>.plain.sasl.jaas.config.",
        sensitive=True,
    )
    sasl_server_max_receive_size: int = option(
        "sasl.server.max.receive.size", INT, 524288, "Largest request, in bytes, taken before authentication.", at_least=1
    )
    connections_max_reauth_ms: int = option(
        "connections.max.reauth.ms",
        LONG,
        0,
        "How long a SASL session lasts before the client must authenticate again on the same connection; 0: for ever.",
        at_least=0,
    )
    connection_failed_authentication_delay_ms: int = option(
        "connection.failed.authentication.delay.ms",
        INT,
        100,
        "Delay before a failed authentication is answered and the connection closed.",
        at_least=0,
    )
    ssl_keystore_type: str = option(
        "ssl.keystore.type", STRING, "JKS", "Format of the key store. PEM is served; JKS and PKCS12 must be converted (openssl pkcs12)."
    )
    ssl_keystore_location: str | None = option(
        "ssl.keystore.location", STRING, None, "PEM file with the private key and the certificate chain."
    )
    ssl_keystore_key: str | None = option("ssl.keystore.key", PASSWORD, None, "Private key as PEM text.", sensitive=True)
    ssl_keystore_certificate_chain: str | None = option(
        "ssl.keystore.certificate.chain", PASSWORD, None, "Certificate chain as PEM text.", sensitive=True
    )
    ssl_keystore_password: str | None = option(
        "ssl.keystore.password", PASSWORD, None, "Accepted; PEM files, which are served, have none.", sensitive=True
    )
    ssl_key_password: str | None = option(
        "ssl.key.password", PASSWORD, None, "Password of the private key, if it is encrypted.", sensitive=True
    )
    ssl_truststore_type: str = option("ssl.truststore.type", STRING, "JKS", "Format of the trust store; PEM is served.")
    ssl_truststore_location: str | None = option(
        "ssl.truststore.location", STRING, None, "PEM file with the certificates that client certificates must chain to."
    )
    ssl_truststore_certificates: str | None = option(
        "ssl.truststore.certificates", PASSWORD, None, "Trusted certificates as PEM text.", sensitive=True
    )
    ssl_client_auth: str = option(
        "ssl.client.auth",
        STRING,
        "none",
        "Whether clients must show a certificate: required, requested or none.",
        one_of=("required", "requested", "none"),
    )
    ssl_enabled_protocols: tuple[str, ...] = option(
        "ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), "TLS versions accepted.", one_of=("TLSv1.2", "TLSv1.3"), not_empty=True
    )
    ssl_cipher_suites: tuple[str, ...] = option(
        "ssl.cipher.suites",
        LIST,
        (),
        "Cipher suites by OpenSSL or IANA name; a TLS version of which none is named is off, those of TLS 1.3 are on together. "
        "Empty: the defaults of the Python build.",
    )
    ssl_principal_mapping_rules: str = option(
        "ssl.principal.mapping.rules",
        STRING,
        "DEFAULT",
        "How the distinguished name of a client certificate becomes a user name: RULE:pattern/replacement/[L|U], or DEFAULT; "
        "who shows one that nothing fits is turned away.",
    )


def listener_value(values: Mapping[str, str], listener: str, name: str, mechanism: str | None = None) -> str | None:
    """The text of setting `name` for a listener (and SASL mechanism), most specific first; None if it is not set."""
    prefix = f"listener.name.{listener.lower()}."
    specific = f"{prefix}{mechanism.lower()}.{name}" if mechanism else None
    for key in (specific, prefix + name, name):
        if key is not None and key in values:
            return values[key]
    return None


def listener_values(values: Mapping[str, str], listener: str, mechanism: str | None = None) -> dict[str, str]:
    """`values` as that listener (and SASL mechanism) sees them: its own `listener.name.<listener>.*` laid over the general ones."""
    prefix = f"listener.name.{listener.lower()}."
    seen = dict(values)
    for own in (prefix, f"{prefix}{mechanism.lower()}.") if mechanism else (prefix,):
        seen |= {key.removeprefix(own): value for key, value in values.items() if key.startswith(own)}
    return seen
