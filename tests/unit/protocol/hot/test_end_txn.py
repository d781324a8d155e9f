"""The hand-written EndTxn bodies are twins of the generic codec."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import response_header
from oncelog.protocol.hot.end_txn import end_txn_answer, read_end_txn
from support.hot_bodies import int16, int64, text

VERSIONS = range(6)
HEAD = b"a header"


@settings(deadline=None)
@given(text, int64, int16, st.booleans(), st.sampled_from(VERSIONS))
def test_request(id: str, producer_id: int, epoch: int, committed: bool, version: int) -> None:
    asked = messages.EndTxnRequest(transactional_id=id, producer_id=producer_id, producer_epoch=epoch, committed=committed)
    body = bytes(messages.encode_request(ApiKey.END_TXN, version, asked))
    read = read_end_txn(version, memoryview(HEAD + body + b"neighbour"), len(HEAD))
    assert read == (id, producer_id, epoch, committed)
    for cut in range(len(body)):
        assert read_end_txn(version, memoryview(HEAD + body[:cut]), len(HEAD)) is None


@given(st.binary(max_size=40), st.sampled_from(VERSIONS))
def test_any_bytes(body: bytes, version: int) -> None:
    read = read_end_txn(version, memoryview(HEAD + body), len(HEAD))
    if read is not None:
        asked = messages.decode_request(ApiKey.END_TXN, version, body)
        assert isinstance(asked, messages.EndTxnRequest)
        assert read == (asked.transactional_id, asked.producer_id, asked.producer_epoch, asked.committed)


@pytest.mark.parametrize(
    ("version", "body"),
    [(5, b"\x00" + bytes(12)), (5, b"\x03ab" + bytes(11) + b"\x01\x05\x00"), (1, b"\xff\xff" + bytes(11))],
    ids=["no id", "tags", "no id, not compact"],
)
def test_what_is_left(version: int, body: bytes) -> None:
    assert read_end_txn(version, memoryview(HEAD + body), len(HEAD)) is None


@given(int16, int64, int16, st.integers(-(2**31), 2**31 - 1), st.sampled_from(VERSIONS))
def test_answer(code: int, producer_id: int, epoch: int, correlation_id: int, version: int) -> None:
    answer = messages.EndTxnResponse(error_code=code, producer_id=producer_id, producer_epoch=epoch)
    body = response_header(ApiKey.END_TXN, version, correlation_id) + messages.encode_response(ApiKey.END_TXN, version, answer)
    assert end_txn_answer(version, correlation_id, code, producer_id, epoch) == len(body).to_bytes(4) + body
