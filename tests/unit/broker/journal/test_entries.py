"""Which requests are written, and that every version of them can be; what entries hold: `test_recorder.py`."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.journal.entries import answered, asked, is_written
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("key", "version", "written"),
    [
        (ApiKey.END_TXN, 0, True),
        (ApiKey.PRODUCE, 13, True),
        (ApiKey.OFFSET_FETCH, 7, False),
        (ApiKey.OFFSET_FETCH, 8, True),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 3, True),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 4, False),
        (ApiKey.FETCH, 12, False),
        (999, 0, False),
    ],
)
def test_which_are_written(key: int, version: int, written: bool) -> None:
    assert is_written(key, version) is written


def test_topics_that_are_named_by_id_are_written_by_name() -> None:
    id = uuid.uuid4()
    request, answer = messages.OffsetCommitRequest, messages.OffsetCommitResponse
    topic = request.OffsetCommitRequestTopic
    part = topic.OffsetCommitRequestPartition(partition_index=3, committed_offset=9)
    body = request(group_id="g", topics=[topic(topic_id=id, partitions=[part])])
    entry = asked(ApiKey.OFFSET_COMMIT, body, {id: "a"}.get)
    assert entry == {"group": "g", "offsets": {"a-3": 9}}
    told = answer.OffsetCommitResponseTopic
    code = told.OffsetCommitResponsePartition(partition_index=3, error_code=22)
    answered(ApiKey.OFFSET_COMMIT, answer(topics=[told(topic_id=id, partitions=[code])]), lambda _id: None, entry)
    assert entry["partitions"] == {f"{id}-3": "ILLEGAL_GENERATION"}
