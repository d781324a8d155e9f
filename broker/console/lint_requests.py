"""What requests show of clients' mistakes, on the broker of this process: whose they are, and what no log keeps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from oncelog.broker.console.lint_rules import NO_METADATA, OLD_VERSION, OUTSIDE, READ_UNCOMMITTED, SHARED_ID, Findings
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import parse_request_header
from oncelog.protocol.primitives import MalformedRequest

_NEW_PROTOCOL = 5  # EndTxn from here on raises the epoch
_REMEMBERED = 10_000  # ids and clients
_TIMES = 3
_SHARED_MS = 300_000
Client = tuple[str | None, str]
HasMembers = Callable[[str], bool]


class RequestLint:
    """`observe` takes requests as they were on the wire; `has_members(group)` and `is_transactional(topic)` ask the broker."""

    def __init__(self, findings: Findings, has_members: HasMembers, is_transactional: Callable[[Any], str | None]) -> None:
        self._findings = findings
        self._has_members = has_members
        self._is_transactional = is_transactional
        self._owners: OrderedDict[str, list[tuple[int, Client]]] = OrderedDict()
        self._plain: OrderedDict[Client, tuple[int, str]] = OrderedDict()  # offset commits: how often, for which group
        self._ends: OrderedDict[Client, tuple[int, str]] = OrderedDict()  # of transactions
        self._within: OrderedDict[Client, bool] = OrderedDict()  # who commits offsets in transactions

    def observe(self, time_ms: int, host: str, frame: bytes) -> None:
        """One request; what cannot be read is passed over."""
        try:
            header = parse_request_header(memoryview(frame))
            key = ApiKey(header.api_key)
            body = messages.decode_request(key, header.api_version, memoryview(frame)[header.body_offset :])
        except (MalformedRequest, ValueError):
            return
        look = _LOOKS.get(key)
        if look is not None:
            look(self, time_ms, (header.client_id, host), header.api_version, body)

    def _init(self, time_ms: int, client: Client, version: int, body: Any) -> None:
        """A, B, A: who was fenced comes back, so both are alive."""
        id = body.transactional_id
        if id is None:
            return
        known = _put(self._owners, id, self._owners.get(id, []))
        if not known or known[-1][1] != client:
            known.append((time_ms, client))
        del known[:-_TIMES]
        if len(known) == _TIMES and known[0][1] == known[2][1] and time_ms - known[0][0] <= _SHARED_MS:
            other, this = known[1][1], known[2][1]
            evidence = f"{id} was initialised by {_named(this)}, by {_named(other)}, and by {_named(this)} again: they fence each other."
            self._findings.note(SHARED_ID, id, evidence, time_ms, this)

    def _end(self, time_ms: int, client: Client, version: int, body: Any) -> None:
        if version < _NEW_PROTOCOL:
            id = body.transactional_id
            evidence = f"{_named(client)} ends transactions of {id} by EndTxn v{version}, and this broker serves v{_NEW_PROTOCOL}."
            self._findings.note(OLD_VERSION, body.transactional_id, evidence, time_ms, client)
        count = self._ends.get(client, (0, ""))[0] + 1
        _put(self._ends, client, (count, body.transactional_id))
        self._outside(time_ms, client)

    def _txn_offsets(self, time_ms: int, client: Client, version: int, body: Any) -> None:
        _put(self._within, client, True)
        bare = not body.member_id and body.generation_id < 0
        if bare and self._has_members(body.group_id):
            id, group = body.transactional_id, body.group_id
            evidence = f"{_named(client)} commits offsets of {group} in transactions of {id} without saying which member."
            self._findings.note(NO_METADATA, body.group_id, evidence, time_ms, client)

    def _offsets(self, time_ms: int, client: Client, version: int, body: Any) -> None:
        count = self._plain.get(client, (0, ""))[0] + 1
        _put(self._plain, client, (count, body.group_id))
        self._outside(time_ms, client)

    def _outside(self, time_ms: int, client: Client) -> None:
        """The same client does both, often, and never together. Without a name of its own a client cannot be told from others."""
        plain, ends = self._plain.get(client, (0, "")), self._ends.get(client, (0, ""))
        if client[0] and plain[0] >= _TIMES and ends[0] >= _TIMES and client not in self._within:
            evidence = f"{_named(client)} ended {ends[0]} transactions of {ends[1]}, "
            evidence += f"and committed offsets of {plain[1]} {plain[0]} times outside of them."
            self._findings.note(OUTSIDE, plain[1], evidence, time_ms, client)

    def _fetch(self, time_ms: int, client: Client, version: int, body: Any) -> None:
        if body.isolation_level or body.replica_id >= 0:
            return
        for topic in body.topics:
            name = self._is_transactional(topic.topic or topic.topic_id)
            if name is not None:
                evidence = f"{_named(client)} fetches {name}, which transactions write to, with isolation.level=read_uncommitted."
                self._findings.note(READ_UNCOMMITTED, name, evidence, time_ms, client)


_LOOKS: dict[ApiKey, Callable[[RequestLint, int, Client, int, Any], None]] = {
    ApiKey.INIT_PRODUCER_ID: RequestLint._init,
    ApiKey.END_TXN: RequestLint._end,
    ApiKey.TXN_OFFSET_COMMIT: RequestLint._txn_offsets,
    ApiKey.OFFSET_COMMIT: RequestLint._offsets,
    ApiKey.FETCH: RequestLint._fetch,
}


def _put(known: OrderedDict[Any, Any], key: Any, value: Any) -> Any:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
    return value


def _named(client: Client) -> str:
    return f"{client[0] or 'a client without a name'} at {client[1]}"
