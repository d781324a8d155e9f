"""Every advertised (key, version): a well-formed default request gets a well-formed answer; and the rules of ApiVersions itself."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.wire import Connection, request_frame, response_tags

ADVERTISED_ONLY = {(ApiKey.PRODUCE, v) for v in range(3)}  # for old librdkafka's sake; such a request ends the connection
# share groups: not offered by oncelog
NO_CLIENTS = frozenset({76, 77, 78, 79, 90, 91, 92})


def advertised(connection: Connection) -> list[tuple[int, int, int]]:
    answer = connection.request(ApiKey.API_VERSIONS, 0, {})
    return [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys]


def test_every_version_is_served(bootstrap: str) -> None:
    with Connection(bootstrap) as connection:
        pairs = [(ApiKey(k), v) for k, low, high in advertised(connection) for v in range(low, high + 1) if k not in NO_CLIENTS]
    assert len(pairs) > 150
    wrong = [f"{key.name} v{version}: {fault}" for key, version in pairs if (fault := fault_of(bootstrap, key, version))]
    assert not wrong, "\n".join(wrong)


def values(key: ApiKey, version: int) -> dict[str, Any]:
    """The few fields whose default Kafka does not answer: acks 0, no transaction at all, resources of no type."""
    if key is ApiKey.PRODUCE:
        return {"acks": -1}
    if key is ApiKey.DESCRIBE_ACLS:
        return {"resource_type_filter": 1, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    if key is ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4:
        kind = messages.AddPartitionsToTxnRequest
        topic = kind.AddPartitionsToTxnTopic(name="no-such-topic", partitions=[0])
        return {"transactions": [kind.AddPartitionsToTxnTransaction(transactional_id="nobody", producer_id=1, topics=[topic])]}
    return {}


def fault_of(bootstrap: str, key: ApiKey, version: int) -> str:
    """What is wrong with the answer to a request of nothing but defaults; empty when nothing is."""
    request = getattr(messages, f"{key.schema_name}Request")(**values(key, version))
    body = b"" if (key, version) in ADVERTISED_ONLY else bytes(messages.encode_request(key, version, request))
    with Connection(bootstrap, timeout=5) as connection:
        connection.send_frame(request_frame(key, version, 7, body))
        try:
            frame = connection.receive_frame()
        except TimeoutError:
            return "no answer"
    if (key, version) in ADVERTISED_ONLY:
        return "" if frame is None else "answered, expected the end of the connection"
    if frame is None:
        return "closed"
    content = frame[4 + response_tags(key, version) :]
    try:
        decoded = messages.decode_response(key, version, memoryview(content))
    except ValueError as error:
        return f"does not decode: {error}"
    again = bytes(messages.encode_response(key, version, decoded))
    return "" if len(again) == len(content) else f"{len(content)} bytes, {len(again)} when encoded again"


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_api_versions_above_ours(bootstrap: str, version: int) -> None:
    """Answered in version 0, error 35, with nothing but the range to try; the connection stays."""
    with Connection(bootstrap) as connection:
        connection.send_frame(struct.pack(">hhih", ApiKey.API_VERSIONS, version, 3, -1) + b"\0whatever")
        frame = connection.receive_frame()
        assert frame is not None
        assert frame == struct.pack(">ihihhh", 3, 35, 1, 18, 0, 4)
        assert connection.request(ApiKey.API_VERSIONS, 4, named("wire", "1.0")).error_code == 0


def named(name: str, version: str) -> dict[str, str]:
    return {"client_software_name": name, "client_software_version": version}


@pytest.mark.parametrize(
    ("name", "version", "code"), [("a-b.c", "1", 0), ("-a", "1", 42), ("a", "1.", 42), ("", "1", 42), ("a b", "1", 42)]
)
def test_api_versions_checks_the_software_name(bootstrap: str, name: str, version: str, code: int) -> None:
    with Connection(bootstrap) as connection:
        assert connection.request(ApiKey.API_VERSIONS, 3, named(name, version)).error_code == code


def test_api_versions_is_the_same_each_time(bootstrap: str) -> None:
    with Connection(bootstrap) as connection:
        first = advertised(connection)
        assert all(advertised(connection) == first for _ in range(5))
    assert [key for key, _, _ in first] == sorted(key for key, _, _ in first)
