"""Which names a topic may have."""

from __future__ import annotations

import re

TOPIC_NAME_LENGTH_MAX = 249
METADATA_TOPIC = "__cluster_metadata"  # KRaft's own: nobody may make it
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_problem(name: str) -> str | None:
    """Why a topic cannot be called that (`Topic.validate`); None if it can."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}"
    if not _TOPIC_NAME.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
