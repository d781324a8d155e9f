"""A broker that answers as scripted, and commands run against it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from cyclopts import App
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.header import parse_request_header, response_header

Answer = Callable[[int, Any], Any]


class ScriptedBroker:
    """Listens on `port` (0: a free one) and answers each key with what `answers` makes of (version, request).
    Other keys close the connection."""

    def __init__(self, answers: dict[ApiKey, Answer] | None = None, *, greeting: bytes = b"", port: int = 0) -> None:
        self.seen: list[tuple[ApiKey, int, Any]] = []
        self.advertised: tuple[str, int] | None = None
        self.cluster_id = "cluster-a"
        self.answers: dict[ApiKey, Answer] = {ApiKey.API_VERSIONS: self._api_versions, ApiKey.METADATA: self._metadata, **(answers or {})}
        self.topics: dict[str, int] = {"orders": 2}
        self._greeting = greeting
        self._server = socket.create_server(("127.0.0.1", port))
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


def run(app: App, *arguments: str, broker: ScriptedBroker | None = None) -> int:
    """Exit status of a command."""
    where = ["--bootstrap", broker.address] if broker else []
    try:
        app([*arguments, *where], exit_on_error=False, print_error=False)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
