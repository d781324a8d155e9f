"""Offsets that groups committed, alone or within a transaction."""
