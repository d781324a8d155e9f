"""Listeners' security: TLS, SASL mechanisms, ACLs."""
