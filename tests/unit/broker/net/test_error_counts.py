"""Which codes of an answer are counted."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.net.error_counts import ErrorCounts, codes_in
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

pytestmark = pytest.mark.unit


def test_every_code_within_an_answer() -> None:
    counts = ErrorCounts()
    kind = messages.AddPartitionsToTxnResponse
    topic = kind.AddPartitionsToTxnTopicResult
    partition = topic.AddPartitionsToTxnPartitionResult
    codes = (ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE)
    parts = [partition(partition_index=number, partition_error_code=code) for number, code in enumerate(codes)]
    counts.of(ApiKey.ADD_PARTITIONS_TO_TXN, kind(error_code=7, results_by_topic_v3_and_below=[topic(name="a", results_by_partition=parts)]))
    counts.of(ApiKey.END_TXN, messages.EndTxnResponse(error_code=0))
    counts.of(ApiKey.OFFSET_COMMIT, messages.OffsetCommitResponse(topics=[]))
    counts.add(ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE)
    key = ApiKey.ADD_PARTITIONS_TO_TXN
    assert dict(counts.by) == {(key, 7): 1, (key, ErrorCode.INVALID_TXN_STATE): 2, (ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE): 1}


def test_every_answer_with_codes_has_them_counted() -> None:
    total = 0
    for key in ApiKey:
        try:
            kind = getattr(messages, f"{key.schema_name}Response")
        except AttributeError:
            continue
        message, codes = _filled(kind)
        counts = ErrorCounts()
        counts.of(key, message)
        assert sum(counts.by.values()) == codes, key
        total += codes
    assert total > 90


def _filled(kind: Any) -> tuple[Any, int]:
    """A message with one entry in each list and an error in each code; how many these are."""
    message, codes = kind(), 0
    for field in kind._struct.fields.values():
        if field.is_struct() or field.is_struct_array():
            one, more = _filled(getattr(kind, field.type_str))
            setattr(message, field.name, [one] if field.is_array() else one)
            codes += more
        elif field.name.endswith("error_code"):
            setattr(message, field.name, 1)
            codes += 1
    return message, codes


def test_codes_within_an_answer() -> None:
    kind = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    part = kind.AddPartitionsToTxnPartitionResult
    results = [kind(name="t", results_by_partition=[part(partition_index=n, partition_error_code=n % 3) for n in range(9)])]
    assert codes_in(messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)) == {1, 2}
    assert codes_in(messages.EndTxnResponse(error_code=0)) == set()
