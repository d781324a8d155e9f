"""Authorizer and SASL settings from the broker's settings, once at the start."""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.broker.auth.authorizer import Authorizer, Store, parse_super_users
from oncelog.broker.auth.config import AuthConfig, listener_value, listener_values
from oncelog.broker.auth.jaas import plain_users
from oncelog.broker.auth.sasl import SaslConfig
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.protocol.config_def import parse_config


def new_authorizer(config: AuthConfig, store: Store) -> Authorizer | None:
    """The authorizer, None when `authorizer.class.name` is empty: then everything is allowed and ACL requests get 54."""
    if not config.authorizer_class_name:
        return None
    return Authorizer(store, parse_super_users(config.super_users), allow_everyone_if_no_acl_found=config.allow_everyone_if_no_acl_found)


def new_sasl_config(values: Mapping[str, str], listener: str, credentials: ScramCredentials) -> SaslConfig:
    """What the SASL listener of that name offers, from the raw settings. Raises KafkaError(INVALID_CONFIG)."""
    config = parse_config(AuthConfig, listener_values(values, listener))
    by_mechanism = {
        mechanism: parse_config(AuthConfig, listener_values(values, listener, mechanism)) for mechanism in config.sasl_enabled_mechanisms
    }
    jaas = listener_value(values, listener, "sasl.jaas.config", "PLAIN")
    # one entry may be shared with SCRAM, whose login module names no users
    users = plain_users(jaas) if jaas is not None else {}
    return SaslConfig(
        mechanisms=config.sasl_enabled_mechanisms,
        plain_users=users,
        credentials=credentials,
        max_reauth_ms={mechanism: own.connections_max_reauth_ms for mechanism, own in by_mechanism.items()},
        failure_delay_ms=config.connection_failed_authentication_delay_ms,
        max_receive_bytes=config.sasl_server_max_receive_size,
    )
