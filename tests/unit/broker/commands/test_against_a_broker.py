"""The command line against a scripted broker: requests, output, exit status, the doctor's findings."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cyclopts import App
from oncelog.broker.commands import acl, config, consume, doctor, group, produce, topic, user
from oncelog.broker.commands.client.output import Format, show
from oncelog.broker.commands.client.wire import ConnectFailure, WireClient, parse_address, request_header
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.header import parse_request_header, response_header
from oncelog.protocol.records import build_batch

pytestmark = pytest.mark.unit
Answer = Callable[[int, Any], Any]


class ScriptedBroker:
    """Listens on a free port and answers each key with what `answers` makes of (version, request); other keys close the connection."""

    def __init__(self, answers: dict[ApiKey, Answer] | None = None, *, greeting: bytes = b"") -> None:
        self.seen: list[tuple[ApiKey, int, Any]] = []
        self.advertised: tuple[str, int] | None = None
        self.cluster_id = "cluster-a"
        self.answers: dict[ApiKey, Answer] = {ApiKey.API_VERSIONS: self._api_versions, ApiKey.METADATA: self._metadata, **(answers or {})}
        self.topics: dict[str, int] = {"orders": 2}
        self._greeting = greeting
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._open: list[socket.socket] = []
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._threads[0].join(5)
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._server.accept()
            except OSError:
                return
            self._open.append(accepted)
            thread = threading.Thread(target=self._serve, args=(accepted,), daemon=True)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            if self._greeting:
                connection.recv(1)
                connection.sendall(self._greeting)
                return
            while 0 < (size := int.from_bytes(stream.read(4), "big")) < 1 << 20:  # a TLS hello looks longer
                frame = stream.read(size)
                header = parse_request_header(frame)
                key = ApiKey(header.api_key)
                if key not in self.answers:
                    return
                request = messages.decode_request(key, header.api_version, frame[header.body_offset :])
                self.seen.append((key, header.api_version, request))
                body = messages.encode_response(key, header.api_version, self.answers[key](header.api_version, request))
                head = response_header(key, header.api_version, header.correlation_id)
                connection.sendall((len(head) + len(body)).to_bytes(4, "big") + head + body)

    def _api_versions(self, version: int, request: Any) -> Any:
        entry = messages.ApiVersionsResponse.ApiVersion
        served = [(key, *messages.valid_versions(key)) for key in self.answers]
        return messages.ApiVersionsResponse(api_keys=[entry(api_key=key, min_version=low, max_version=high) for key, low, high in served])

    def _metadata(self, version: int, request: Any) -> Any:
        response = messages.MetadataResponse
        host, port = self.advertised or ("127.0.0.1", self.port)
        partition = response.MetadataResponseTopic.MetadataResponsePartition
        asked = list(self.topics) if request.topics is None else [each.name for each in request.topics]
        topics = [
            response.MetadataResponseTopic(
                error_code=0 if name in self.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                name=name,
                partitions=[
                    partition(partition_index=number, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1])
                    for number in range(self.topics.get(name, 0))
                ],
            )
            for name in asked
        ]
        broker = response.MetadataResponseBroker(node_id=1, host=host, port=port, rack=None)
        return response(brokers=[broker], cluster_id=self.cluster_id, controller_id=1, topics=topics)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    made = ScriptedBroker()
    yield made
    made.close()


def run(app: App, *arguments: str, broker: ScriptedBroker | None = None) -> int:
    """Exit status of a command."""
    where = ["--bootstrap", broker.address] if broker else []
    try:
        app([*arguments, *where], exit_on_error=False, print_error=False)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


# --- the wire client


@pytest.mark.parametrize(
    ("text", "address"),
    [("a:1", ("a", 1)), ("a", ("a", 9092)), ("[::1]:5", ("::1", 5)), ("[::1]", ("::1", 9092)), (" a:2 ", ("a", 2))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":1", "a:b", "a:1x"])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


def test_request_headers_are_read_back() -> None:
    head = request_header(3, 12, 77, "me", True)
    header = parse_request_header(memoryview(head))
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (3, 12, 77, "me")


def test_versions_are_negotiated(broker: ScriptedBroker) -> None:
    with WireClient("127.0.0.1", broker.port) as client:
        assert client.negotiate(ApiKey.METADATA) == messages.valid_versions(ApiKey.METADATA)[1]
        assert client.negotiate(ApiKey.METADATA, 5) == 5
        client.versions[ApiKey.METADATA] = (90, 91)
        for key in (ApiKey.METADATA, ApiKey.FETCH):
            with pytest.raises(KafkaError) as refused:
                client.negotiate(key)
            assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_an_old_broker_refuses_with_the_first_version() -> None:
    def answer(version: int, request: Any) -> Any:
        entry = messages.ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=0)
        return messages.ApiVersionsResponse(error_code=0 if version == 0 else 35, api_keys=[entry])

    old = ScriptedBroker({ApiKey.API_VERSIONS: answer})
    with WireClient("127.0.0.1", old.port) as client:
        assert client.versions == {18: (0, 0)}
    assert [version for _, version, _ in old.seen] == [3, 0]
    old.close()


@pytest.mark.parametrize(("greeting", "said"), [(b"HTTP/1.1 400\r\n\r\n", "no Kafka response"), (b"\x15\x03\x03\0\2\2\x32", "TLS")])
def test_what_is_no_broker_is_said(greeting: bytes, said: str) -> None:
    other = ScriptedBroker(greeting=greeting)
    with pytest.raises(ConnectFailure, match=said) as failure:
        WireClient("127.0.0.1", other.port).connect()
    assert failure.value.stage == "api_versions"
    other.close()


# --- commands


def test_topics_are_listed(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(topic.app, "list", "--format", "json", broker=broker) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["partitions"], row["replicas"]) == ("orders", 2, 1)


def test_a_refusal_is_exit_status_1_and_said_on_standard_error(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.answers[ApiKey.CREATE_TOPICS] = lambda version, request: messages.CreateTopicsResponse(
        topics=[messages.CreateTopicsResponse.CreatableTopicResult(name="orders", error_code=36, error_message="exists")]
    )
    assert run(topic.app, "create", "orders", broker=broker) == 1
    seen = capsys.readouterr()
    assert (seen.out, "exists (TOPIC_ALREADY_EXISTS)" in seen.err) == ("", True)
    assert run(topic.app, "create", "orders", "--if-not-exists", "--config", "retention.ms=1", broker=broker) == 0
    _, _, request = broker.seen[-1]
    assert [(c.name, c.value) for c in request.topics[0].configs] == [("retention.ms", "1")]


def test_nobody_there_is_exit_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ScriptedBroker()
    gone.close()
    assert run(topic.app, "list", broker=gone) == 3
    assert "doctor" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("app", "arguments"),
    [
        (topic.app, ["create"]),
        (topic.app, ["alter", "orders"]),
        (topic.app, ["create", "x", "--config", "nonsense"]),
        (config.app, ["describe", "topic"]),
        (config.app, ["alter", "topic", "orders"]),
        (acl.app, ["add", "alice", "topic", "x"]),
        (acl.app, ["add", "User:alice", "topic"]),
        (acl.app, ["add", "User:alice", "group", "--operation", "read"]),
        (acl.app, ["delete"]),
        (group.app, ["reset-offsets", "g"]),
        (group.app, ["reset-offsets", "g", "--to-latest", "--to-earliest"]),
        (consume.app, ["orders", "--from", "tomorrow"]),
        (produce.app, ["orders", "--key", "a", "--key-separator", ":"]),
        (topic.app, ["list", "--security-protocol", "SASL_PLAINTEXT"]),
    ],
)
def test_wrong_arguments_are_exit_status_2(broker: ScriptedBroker, app: App, arguments: list[str]) -> None:
    assert run(app, *arguments, broker=broker) == 2


def test_a_password_is_salted_before_it_travels(broker: ScriptedBroker) -> None:
    result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    broker.answers[ApiKey.ALTER_USER_SCRAM_CREDENTIALS] = lambda version, request: messages.AlterUserScramCredentialsResponse(
        results=[result(user="al", error_code=0, error_message=None)]
    )
    assert run(user.app, "set", "al", "--new-password", "secret", broker=broker) == 0
    (sent,) = broker.seen[-1][2].upsertions
    assert (sent.name, sent.mechanism, sent.iterations, len(sent.salt), len(sent.salted_password)) == ("al", 1, 8192, 24, 32)
    assert b"secret" not in sent.salted_password


def test_records_go_where_a_java_producer_puts_them(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    def accept(version: int, request: Any) -> Any:
        response = messages.ProduceResponse.TopicProduceResponse
        index = request.topic_data[0].partition_data[0].index
        part = response.PartitionProduceResponse(index=index, error_code=0, base_offset=0)
        return messages.ProduceResponse(responses=[response(name="orders", partition_responses=[part])])

    broker.answers[ApiKey.PRODUCE] = accept
    assert run(produce.app, "orders", "--value", "k:1", "--value", "k:2", "--key-separator", ":", "--format", "json", broker=broker) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["records"] == 2
    assert list(facts["partitions"].values()) == [2]


def test_a_reader_of_committed_records_sees_no_aborted_ones() -> None:
    def batch(offset: int, value: bytes, **more: Any) -> bytes:
        return bytes(build_batch([(0, None, value)], base_offset=offset, **more))

    transactional = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    log = b"".join(
        [
            batch(0, b"plain"),
            batch(1, b"aborted", **transactional),
            bytes(end_transaction_marker(7, 0, False, 0, 0, 2)),
            batch(3, b"committed", **transactional),
            bytes(end_transaction_marker(7, 0, True, 0, 0, 4)),
        ]
    )
    position = consume.Position(0, 5)
    answer = SimpleNamespace(records=log, aborted_transactions=[SimpleNamespace(producer_id=7, first_offset=1)])
    assert [record.value for record in consume._visible(answer, position)] == [b"plain", b"committed"]
    assert (position.offset, position.finished, position.aborted) == (5, True, set())
    # from the middle of the log, and everything for a reader of uncommitted records
    everything = SimpleNamespace(records=log, aborted_transactions=None)
    assert [record.value for record in consume._visible(everything, consume.Position(1, 4))] == [b"aborted", b"committed"]


def test_tables_for_people_and_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a" * 200, "count": None, "many": [1, 2], "open": True}]
    show(rows, ["name", "count", "many", "open"], Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["a" * 200, "-", "1,2", "yes"]  # a pipe gets one line a row
    show(rows, ["name"], Format.JSON)
    assert json.loads(capsys.readouterr().out) == rows
    show([], ["name"], Format.JSON)
    assert capsys.readouterr().out == "[]\n"


# --- the doctor


def findings(capsys: pytest.CaptureFixture[str], broker: ScriptedBroker, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    status = run(doctor.app, "--format", "json", "--timeout", "5", *arguments, broker=broker)
    return status, json.loads(capsys.readouterr().out)


def test_a_broker_in_good_health(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = findings(capsys, broker)
    assert (status, [each["ok"] for each in found]) == (0, [True])


def test_an_advertised_address_that_cannot_be_reached(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.advertised = ("no-such-host.invalid", 9092)
    status, found = findings(capsys, broker)
    assert (status, found[-1]["step"]) == (3, "advertised address")
    assert "advertised.listeners" in found[-1]["advice"]


def test_an_advertised_address_of_another_cluster(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    other = ScriptedBroker()
    other.cluster_id = "cluster-b"
    broker.advertised = ("127.0.0.1", other.port)
    status, found = findings(capsys, broker)
    assert (status, found[-1]["step"]) == (3, "advertised address")
    assert "another cluster" in found[-1]["advice"]
    other.close()


@pytest.mark.parametrize(
    ("arguments", "step", "advice"),
    [
        (["--insecure"], "TLS", "PLAINTEXT"),
        (["--username", "a", "--password", "b"], "authentication", "sasl-mechanism"),
    ],
)
def test_the_wrong_protocol(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str], step: str, advice: str
) -> None:
    broker.answers[ApiKey.SASL_HANDSHAKE] = lambda version, request: messages.SaslHandshakeResponse(error_code=34, mechanisms=[])
    status, found = findings(capsys, broker, *arguments)
    assert (status, found[0]["step"], advice in found[0]["advice"]) == (3, step, True)


def test_a_broker_that_wants_authentication(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    del broker.answers[ApiKey.METADATA]
    broker.answers[ApiKey.API_VERSIONS] = lambda version, request: messages.ApiVersionsResponse(
        api_keys=[messages.ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]
    )
    status, found = findings(capsys, broker)
    assert (status, "SASL" in found[0]["advice"]) == (3, True)


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ScriptedBroker()
    gone.close()
    status, found = findings(capsys, gone)
    assert (status, found[0]["step"], "nothing listens" in found[0]["advice"]) == (3, "connection", True)
