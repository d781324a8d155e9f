"""What stands between the connections and the handlers and writes the journal; and the two places it is written to.

An entry is written before its answer goes out, so that what a client was told is never missing, however the broker ends. A file loses its
end in a power cut.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from collections import deque
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from oncelog.broker.journal.entries import Entry, TopicName, answered, asked, is_written
from oncelog.broker.net.answer_stream import Sent, whole
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import LENGTH_BYTES
from oncelog.protocol.header import RequestHeader, parse_request_header, response_header
from oncelog.protocol.primitives import MalformedRequest
from oncelog.protocol.records import CorruptBatch

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext
    from oncelog.broker.lifecycle import Around
    from oncelog.broker.net.connection import Connection, Handles

_log = logging.getLogger(__name__)

KEPT_ENTRIES = 10_000  # in memory
_KIND = Struct(">hh")


class Journal(Protocol):
    def write(self, entry: Entry) -> None: ...


class MemoryJournal:
    """The latest entries."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=KEPT_ENTRIES)

    def write(self, entry: Entry) -> None:
        self.entries.append(entry)


class FileJournal:
    """Lines of JSON at the end of `path`; what a cut left of a line is removed first. Raises OSError.

    One that cannot be written to any more is left alone, with a line in the log: the broker goes on.
    """

    def __init__(self, path: Path, now_ms: int) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o640)
        os.ftruncate(self._file, self._whole())
        self._failed = False
        self.write({"start": True, "time_ms": now_ms})

    def _whole(self) -> int:
        """Up to where the lines are whole, in bytes."""
        size = os.fstat(self._file).st_size
        at = size
        while at > 0:
            begin = max(0, at - 65536)
            end = os.pread(self._file, at - begin, begin).rfind(b"\n")
            if end >= 0:
                return begin + end + 1
            at = begin
        return 0

    def write(self, entry: Entry) -> None:
        if self._failed:
            return
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._failed = True
            _log.error("journal ends here, the broker goes on path=%s error=%s", self._path, error)

    def close(self) -> None:
        os.close(self._file)


def journaling(journal: Journal) -> Around:
    """What is to stand around the handlers, for `lifecycle.Broker`."""

    def around(handler: Handles, context: BrokerContext) -> Handles:
        return JournalingHandler(handler, journal, context.topic_name)

    return around


class JournalingHandler:
    """Answers frames as `handler` does, and writes down those that exactly-once depends on."""

    def __init__(self, handler: Handles, journal: Journal, topic_name: TopicName) -> None:
        self.clock = handler.clock
        self._handler = handler
        self._journal = journal
        self._topic_name = topic_name
        self._moment = 0

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self._handler.log_failure(connection, error)

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        entry = None
        if len(frame) >= _KIND.size and is_written(*_KIND.unpack_from(frame)) and not (connection.sasl and connection.sasl.takes_tokens):
            entry = self._begun(frame, connection)
        reply = self._handler.handle(frame, connection)
        if entry is None:
            return reply

        header, about = entry
        if not isinstance(reply, Deferred):
            return self._ended(header, about, reply)
        if reply.done:
            return self._ended(header, about, reply.result())
        reply.made_into(lambda value: self._ended(header, about, value))
        return reply

    def _begun(self, frame: memoryview, connection: Connection) -> tuple[RequestHeader, Entry] | None:
        """None: it cannot be read, which its handler will tell."""
        try:
            header = parse_request_header(frame)
            key = ApiKey(header.api_key)
            body = messages.decode_request(key, header.api_version, frame[header.body_offset :])
            about = asked(key, body, self._topic_name)
        except (MalformedRequest, CorruptBatch):
            return None
        self._moment += 1
        entry: dict[str, Any] = {
            "begun": self._moment,
            "ended": 0,
            "time_ms": self.clock.time_ms(),
            "connection": connection.client_name,
            "client_id": header.client_id,
            "api": key.schema_name,
            "version": header.api_version,
        }
        return header, entry | about

    def _ended(self, header: RequestHeader, entry: Entry, value: Sent) -> Sent:
        data = whole(value)
        self._moment += 1
        entry["ended"] = self._moment
        if data:  # acks=0 is told nothing
            key = ApiKey(header.api_key)
            begin = LENGTH_BYTES + len(response_header(key, header.api_version, header.correlation_id))
            answered(key, messages.decode_response(key, header.api_version, memoryview(data)[begin:]), self._topic_name, entry)
        self._journal.write(entry)
        return value


def read(path: Path) -> list[Entry]:
    """The entries of a file; a last line that was cut is left out. Raises OSError, ValueError for a file that is no journal."""
    entries = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            entry = json.loads(line)
        except ValueError:
            raise ValueError(f"{path} line {number} is no entry of a journal") from None
        if not isinstance(entry, dict) or not {"start", "api"} & entry.keys():
            raise ValueError(f"{path} line {number} is no entry of a journal")
        entries.append(entry)
    return entries
