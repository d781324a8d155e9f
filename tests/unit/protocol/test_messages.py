"""Which keys and versions have a definition."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import MalformedRequest


def test_versions_outside_the_definition() -> None:
    for version in (-1, 2, 14):
        with pytest.raises(MalformedRequest, match="versions 3 to 13"):
            messages.decode_request(ApiKey.PRODUCE, version, b"")


def test_unknown_keys() -> None:
    for key in (-1, 93, 9999, ApiKey.VOTE):
        with pytest.raises(MalformedRequest, match="no message with key"):
            messages.decode_request(key, 0, b"")
