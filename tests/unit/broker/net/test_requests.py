"""From a frame to its answer: the header, whom it goes to, what ends the connection, and what is told before a login."""

from __future__ import annotations

import functools
import logging
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.sasl import SaslState
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.requests import RequestHandler
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.primitives import MalformedRequest
from oncelog.protocol.records import build_batch
from support.group_requests import AT_ONCE
from support.sasl_states import authenticate, settings
from support.simbroker import build
from support.whole_broker import Connection, WholeBroker
from support.wire import request_frame, response_tags

pytestmark = pytest.mark.unit
SOFTWARE = {"client_software_name": "c", "client_software_version": "1"}


@pytest.fixture
def whole() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 2}, AT_ONCE)
    yield made
    made.close()


class Door:
    """Where frames come in."""

    def __init__(self, whole: WholeBroker, sasl: SaslState | None = None) -> None:
        self.whole = whole
        self.handler = RequestHandler(whole.context, whole.broker.apis)
        self.connection = Connection(sasl=sasl)

    def begin(self, frame: bytes) -> Any:
        return self.whole.run(functools.partial(self.handler.handle, memoryview(bytearray(frame)), self.connection))  # type: ignore[arg-type]

    def send(self, key: ApiKey, version: int, correlation_id: int = 77, **fields: Any) -> bytes:
        """The answer without its length; b"" where none is sent."""
        body = bytes(messages.encode_request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields)))
        return self.bytes_of(self.begin(request_frame(key, version, correlation_id, body)))

    def bytes_of(self, reply: Any) -> bytes:
        if isinstance(reply, Deferred):
            if not reply.done:
                self.whole.settle()
            reply = reply.result()
        return reply[4:] if isinstance(reply, bytes) else b"".join(bytes(piece) for piece in reply)


def read(key: ApiKey, version: int, answer: bytes, correlation_id: int = 77) -> Any:
    assert struct.unpack_from(">i", answer) == (correlation_id,)
    return messages.decode_response(key, version, memoryview(answer)[4 + response_tags(key, version) :])


@pytest.mark.parametrize(
    ("key", "version", "fields"),
    [
        (ApiKey.API_VERSIONS, 0, {}),
        (ApiKey.API_VERSIONS, 4, SOFTWARE),  # a flexible request whose answer's header is not
        (ApiKey.LIST_GROUPS, 0, {}),
        (ApiKey.LIST_GROUPS, 5, {}),
        (ApiKey.DESCRIBE_CLUSTER, 2, {}),
        (ApiKey.INIT_PRODUCER_ID, 5, {"transactional_id": None, "transaction_timeout_ms": 1}),
    ],
)
@pytest.mark.parametrize("correlation_id", [0, 5, -1, 2**31 - 1])
def test_an_answer_bears_the_number_of_its_request(whole: WholeBroker, key: ApiKey, version: int, fields: Any, correlation_id: int) -> None:
    answer = Door(whole).send(key, version, correlation_id, **fields)
    assert read(key, version, answer, correlation_id).error_code == ErrorCode.NONE


def test_one_that_comes_later_bears_it_too(whole: WholeBroker) -> None:
    door = Door(whole)
    asked = {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}]}
    fields = {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000, "topics": [asked], "session_epoch": -1}
    body = bytes(messages.encode_request(ApiKey.FETCH, 12, build(messages.FetchRequest, fields)))
    reply = door.begin(request_frame(ApiKey.FETCH, 12, 9, body))
    assert isinstance(reply, Deferred)
    whole.advance(600)
    assert read(ApiKey.FETCH, 12, door.bytes_of(reply), 9).error_code == ErrorCode.NONE


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_who_wants_no_answer_gets_none(whole: WholeBroker, acks: int) -> None:
    data = [{"index": 0, "records": bytes(build_batch([(1, None, b"v")]))}]
    fields = {"transactional_id": None, "acks": acks, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    door = Door(whole)
    for end in (1, 2):  # the second one may go another way
        answer = door.send(ApiKey.PRODUCE, 9, **fields)
        assert (answer == b"") is (acks == 0)
        assert whole.log("t").log_end_offset == end


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (ApiKey.LIST_GROUPS, 6, "LIST_GROUPS version 6, served are 0 to 5"),
        (ApiKey.PRODUCE, 2, "PRODUCE version 2, served are 3 to"),
        (4, 0, "unknown api key 4"),
        (9999, 0, "unknown api key 9999"),
        (-1, 0, "unknown api key -1"),
    ],
)
def test_what_is_not_served_ends_the_connection(whole: WholeBroker, key: int, version: int, why: str) -> None:
    with pytest.raises(CloseConnection, match=why):
        Door(whole).begin(struct.pack(">hhi", key, version, 1) + b"\xff\xff" + b"\0" * 20)


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_a_newer_client_learns_our_versions_in_the_oldest_form(whole: WholeBroker, version: int) -> None:
    door = Door(whole)
    answer = door.bytes_of(door.begin(struct.pack(">hhi", ApiKey.API_VERSIONS, version, 7) + b"\xff\xff\0whatever it says"))
    told = read(ApiKey.API_VERSIONS, 0, answer, 7)
    assert (told.error_code, [each.api_key for each in told.api_keys]) == (ErrorCode.UNSUPPORTED_VERSION, [ApiKey.API_VERSIONS])


def test_a_body_that_is_cut_ends_the_connection(whole: WholeBroker) -> None:
    body = bytes(messages.encode_request(ApiKey.LIST_GROUPS, 4, build(messages.ListGroupsRequest, {"states_filter": ["Stable"]})))
    frame = request_frame(ApiKey.LIST_GROUPS, 4, 1, body)
    for cut in range(len(frame) - len(body), len(frame)):
        with pytest.raises(CloseConnection, match="malformed LIST_GROUPS version 4"):
            Door(whole).begin(frame[:cut])


def test_so_does_one_of_a_handler_that_reads_for_itself(whole: WholeBroker) -> None:
    with pytest.raises(CloseConnection, match="malformed FETCH version 12"):
        Door(whole).begin(request_frame(ApiKey.FETCH, 12, 1, b"\0\0"))


# -- before a login


def shaken(framed: bool = True, **changes: Any) -> SaslState:
    state = SaslState(settings(failure_delay_ms=0, **changes))
    state.handshake("PLAIN", 0, framed=framed)
    return state


def test_before_a_login_other_requests_close_without_an_answer(whole: WholeBroker) -> None:
    door = Door(whole, SaslState(settings()))
    with pytest.raises(CloseConnection, match="request 16 before authentication on listener PLAINTEXT"):
        door.send(ApiKey.LIST_GROUPS, 4)
    assert read(ApiKey.API_VERSIONS, 3, door.send(ApiKey.API_VERSIONS, 3, **SOFTWARE)).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("key", "version"), [(ApiKey.LIST_GROUPS, 4), (ApiKey.API_VERSIONS, 0), (ApiKey.METADATA, 13)])
def test_between_tokens_they_are_told_34_and_then_closed(whole: WholeBroker, key: ApiKey, version: int) -> None:
    door = Door(whole, shaken())
    asked = {"topics": []} if key is ApiKey.METADATA else {}
    assert read(key, version, door.send(key, version, **asked)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert door.connection.closing
    (told,) = door.connection.told
    assert (told["what"], told["reason"]) == ("authentication failed", f"request {int(key)} before authentication on listener PLAINTEXT")


def test_also_one_whose_version_we_do_not_know(whole: WholeBroker) -> None:
    door = Door(whole, shaken())
    answer = door.bytes_of(door.begin(struct.pack(">hhi", ApiKey.API_VERSIONS, 99, 7) + b"\xff\xff\0"))
    assert read(ApiKey.API_VERSIONS, 0, answer, 7).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_apis_without_an_answer_for_it_are_closed_at_once(whole: WholeBroker) -> None:
    door = Door(whole, shaken())
    with pytest.raises(CloseConnection, match="request 15 before authentication"):
        door.send(ApiKey.DESCRIBE_GROUPS, 5, groups=["g"])
    assert not door.connection.told


def test_the_refusal_waits_as_long_as_a_failed_login(whole: WholeBroker) -> None:
    state = SaslState(settings(failure_delay_ms=100))
    state.handshake("PLAIN", 0)
    door = Door(whole, state)
    reply = door.begin(request_frame(ApiKey.LIST_GROUPS, 0, 1, b""))
    assert isinstance(reply, Deferred)
    whole.advance(98)
    assert not reply.done
    whole.advance(3)
    assert read(ApiKey.LIST_GROUPS, 0, door.bytes_of(reply), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_bare_token_has_no_header(whole: WholeBroker) -> None:
    door = Door(whole, shaken(framed=False))
    assert door.bytes_of(door.begin(b"\0alice\0secret")) == b""
    assert door.connection.principal == "User:alice"
    assert read(ApiKey.LIST_GROUPS, 4, door.send(ApiKey.LIST_GROUPS, 4)).error_code == ErrorCode.NONE


def test_a_session_that_is_over_takes_no_more_produce_either(whole: WholeBroker) -> None:
    """Whichever way a Produce goes."""
    state = SaslState(settings(max_reauth_ms={"PLAIN": 5_000}))
    authenticate(state, "PLAIN", "alice", "secret", whole.clock.monotonic_ms())
    data = [{"index": 0, "records": bytes(build_batch([(1, None, b"v")]))}]
    fields = {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    door = Door(whole, state)
    for _ in range(3):
        door.send(ApiKey.PRODUCE, 9, **fields)
    whole.advance(5_001)
    with pytest.raises(CloseConnection, match="request 0 before authentication"):
        door.send(ApiKey.PRODUCE, 9, **fields)
    assert whole.log("t").log_end_offset == 3


def test_an_error_of_ours_is_logged_with_its_trace(whole: WholeBroker, caplog: pytest.LogCaptureFixture) -> None:
    client: Any = SimpleNamespace(client_name="10.0.0.1:5 (c)")
    with caplog.at_level(logging.ERROR, logger="oncelog"):
        Door(whole).handler.log_failure(client, ValueError("mistake"))
    (record,) = caplog.records
    assert record.getMessage() == "failed request client=10.0.0.1:5 (c)"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


@pytest.mark.parametrize("frame", [b"", b"\0", b"\0\x12\0\0\0\0\0", struct.pack(">hhi", 16, 4, 1) + b"\0\x05ab"])
def test_a_header_that_is_cut(whole: WholeBroker, frame: bytes) -> None:
    with pytest.raises(MalformedRequest):
        Door(whole).begin(frame)
