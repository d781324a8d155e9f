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
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from oncelog.broker.journal.entries import Entry, TopicName, answered, asked, is_written
from oncelog.broker.net.answer_stream import Sent, whole
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import LENGTH_BYTES
from oncelog.protocol.header import RequestHeader, parse_request_header, response_header
from oncelog.protocol.primitives import Buffer, MalformedRequest
from oncelog.protocol.records import CorruptBatch

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext
    from oncelog.broker.lifecycle import Around
    from oncelog.broker.net.connection import Connection, Handles

_log = logging.getLogger(__name__)

KEPT_ENTRIES = 10_000  # in memory
SMALL_BYTES = 2 << 10  # of a request that is kept as it came
_KIND = Struct(">i")
_WRITTEN = frozenset((int(key) << 16) | version for key in ApiKey for version in range(32) if is_written(key, version))


class Journal(Protocol):
    def write(self, entry: Entry) -> None: ...


class Kept(NamedTuple):
    """A small request and its answer as they were on the wire, to be read when somebody asks."""

    begun: int
    ended: int
    time_ms: int
    connection: str
    frame: bytes
    answer: bytes
    topic_name: TopicName


class MemoryJournal:
    """The latest entries. A request of a few hundred bytes is kept as it came: reading it costs more than carrying it out."""

    def __init__(self) -> None:
        self._entries: deque[Entry | Kept] = deque(maxlen=KEPT_ENTRIES)

    def write(self, entry: Entry) -> None:
        self._entries.append(entry)

    def keep(self, kept: Kept) -> None:
        self._entries.append(kept)

    def read(self) -> list[Entry]:
        """In the order of their answers. Names of topics are those of now, so this comes before topics go."""
        found = [_read(each) if isinstance(each, Kept) else each for each in self._entries]
        entries = [entry for entry in found if entry is not None]
        self._entries = deque(entries, KEPT_ENTRIES)
        return entries

    def clear(self) -> None:
        self._entries.clear()


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
        if isinstance(journal, MemoryJournal):
            journal.read()  # by the names of the broker before this one
        return JournalingHandler(handler, journal, context.topic_name)

    return around


class JournalingHandler:
    """Answers frames as `handler` does, and writes down those that exactly-once depends on."""

    def __init__(self, handler: Handles, journal: Journal, topic_name: TopicName) -> None:
        self.clock = handler.clock
        self._handler = handler
        self._handle = handler.handle
        self._journal = journal
        self._memory = journal if isinstance(journal, MemoryJournal) else None
        self._topic_name = topic_name
        self._moment = 0

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self._handler.log_failure(connection, error)

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        if len(frame) < _KIND.size or (connection.sasl is not None and connection.sasl.takes_tokens):
            return self._handle(frame, connection)
        (kind,) = _KIND.unpack_from(frame)
        if kind not in _WRITTEN:
            if kind >> 16 == ApiKey.DELETE_TOPICS and self._memory is not None:
                self._memory.read()
            return self._handle(frame, connection)
        if self._memory is not None and len(frame) <= SMALL_BYTES:
            return self._kept(self._memory, frame, connection)
        return self._written(frame, connection)

    def _kept(self, journal: MemoryJournal, frame: memoryview, connection: Connection) -> Reply[Sent]:
        self._moment = begun = self._moment + 1
        time_ms, copy = self.clock.time_ms(), bytes(frame)

        def ended(value: Sent) -> Sent:
            self._moment += 1
            journal.keep(Kept(begun, self._moment, time_ms, connection.client_name, copy, whole(value), self._topic_name))
            return value

        reply = self._handle(frame, connection)
        if not isinstance(reply, Deferred):
            return ended(reply)
        if reply.done:
            return ended(reply.result())
        reply.made_into(ended)
        return reply

    def _written(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        begun = _begun(frame, self._moment + 1, self.clock.time_ms(), connection.client_name, self._topic_name)
        if begun is None:
            return self._handle(frame, connection)
        self._moment += 1
        header, entry = begun

        def ended(value: Sent) -> Sent:
            self._moment += 1
            _ended(header, entry, self._moment, whole(value), self._topic_name)
            self._journal.write(entry)
            return value

        reply = self._handle(frame, connection)
        if not isinstance(reply, Deferred):
            return ended(reply)
        if reply.done:
            return ended(reply.result())
        reply.made_into(ended)
        return reply


def _begun(frame: Buffer, moment: int, time_ms: int, client_name: str, topic_name: TopicName) -> tuple[RequestHeader, Entry] | None:
    """None: it cannot be read, which its handler will tell."""
    try:
        header = parse_request_header(frame)
        key = ApiKey(header.api_key)
        body = messages.decode_request(key, header.api_version, memoryview(frame)[header.body_offset :])
        about = asked(key, body, topic_name)
    except (MalformedRequest, CorruptBatch):
        return None
    entry: dict[str, Any] = {
        "begun": moment,
        "ended": 0,
        "time_ms": time_ms,
        "connection": client_name,
        "client_id": header.client_id,
        "api": key.schema_name,
        "version": header.api_version,
    }
    return header, entry | about


def _ended(header: RequestHeader, entry: Entry, moment: int, data: Buffer, topic_name: TopicName) -> None:
    entry["ended"] = moment
    if data:  # acks=0 is told nothing
        key = ApiKey(header.api_key)
        begin = LENGTH_BYTES + len(response_header(key, header.api_version, header.correlation_id))
        answered(key, messages.decode_response(key, header.api_version, memoryview(data)[begin:]), topic_name, entry)


def _read(kept: Kept) -> Entry | None:
    begun = _begun(kept.frame, kept.begun, kept.time_ms, kept.connection, kept.topic_name)
    if begun is None:
        return None
    header, entry = begun
    _ended(header, entry, kept.ended, kept.answer, kept.topic_name)
    return entry


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
