"""Decisions: transactions and groups as state machines whose only hard state is replayed records."""
