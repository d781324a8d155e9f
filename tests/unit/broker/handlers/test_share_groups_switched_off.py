"""With share groups switched off every one of their requests is told so, and no client is told that there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
K = ApiKey
ASKED: list[tuple[ApiKey, dict[str, Any]]] = [
    (K.SHARE_GROUP_HEARTBEAT, {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["t"]}),
    (K.SHARE_GROUP_DESCRIBE, {"group_ids": ["g"]}),
    (K.DESCRIBE_SHARE_GROUP_OFFSETS, {"groups": [{"group_id": "g", "topics": None}]}),
    (K.ALTER_SHARE_GROUP_OFFSETS, {"group_id": "g", "topics": []}),
    (K.DELETE_SHARE_GROUP_OFFSETS, {"group_id": "g", "topics": []}),
    (K.SHARE_ACKNOWLEDGE, {"group_id": "g", "member_id": "m", "share_session_epoch": 1, "topics": []}),
]


@pytest.mark.parametrize(("key", "fields"), ASKED, ids=[key.name for key, _ in ASKED])
def test_every_request_is_told_so(wholes: Callable[..., WholeBroker], key: ApiKey, fields: dict[str, Any]) -> None:
    for value, refused in (("false", True), ("true", False)):
        whole = wholes(settings={"group.share.enable": value})
        version = 1 if key in (K.SHARE_GROUP_HEARTBEAT, K.SHARE_GROUP_DESCRIBE, K.SHARE_ACKNOWLEDGE) else 0
        answer = whole.ask(key, version, **fields)
        codes = [answer.error_code] if hasattr(answer, "error_code") else [group.error_code for group in answer.groups]
        assert (codes == [ErrorCode.UNSUPPORTED_VERSION]) is refused


def test_the_feature_is_off(wholes: Callable[..., WholeBroker]) -> None:
    for value, levels in (("false", []), ("true", [1])):
        whole = wholes(settings={"group.share.enable": value})
        answer = whole.ask(K.API_VERSIONS, 4, client_software_name="c", client_software_version="1")
        assert [one.max_version_level for one in answer.finalized_features if one.name == "share.version"] == levels
        assert ("share.version", 0, 1) in [(one.name, one.min_version, one.max_version) for one in answer.supported_features]
