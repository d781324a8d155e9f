"""What a message takes when it is made."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages


def test_unknown_fields_are_refused_when_a_message_is_made() -> None:
    with pytest.raises(TypeError):
        messages.HeartbeatResponse(error=3)
    with pytest.raises(AttributeError):
        messages.HeartbeatResponse().error = 3
    with pytest.raises(AttributeError):
        _ = messages.NoSuchMessage


def test_defaults_are_not_shared() -> None:
    one, two = messages.MetadataResponse(), messages.MetadataResponse()
    one.topics.append(1)
    assert two.topics == []
