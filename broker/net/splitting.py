"""Requests with long lists, taken a few entries in a turn of the loop.

The entries of most lists have nothing to do with each other: such a request is handled as several short ones, whose answers are put
together in its order. Entries that name the same thing stay together, because handlers refuse or merge them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from oncelog.broker.answers import holding_back
from oncelog.broker.net.causes import call
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages.classes import MessageBase
from oncelog.protocol.primitives import Buffer, MalformedRequest

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.dispatch import Answer, Api
    from oncelog.broker.net.turns import Steps

LONG_BODY_BYTES: Final = 1 << 13  # decoded by another thread: that and the rest takes some milliseconds


class Split(NamedTuple):
    """Names of the lists within each other, in the request and in its answer; how many of the innermost entries are handled in a turn."""

    asked: tuple[str, ...]
    answered: tuple[str, ...]
    entries: int = 200


_TOPICS = Split(("topics", "partitions"), ("topics", "partitions"), 100)
_WHOLE = Split((), (), 1 << 30)  # its handler takes its own turns
_SHARE_STATES = Split(("topics", "partitions"), ("results", "partitions"), 50)
_BATCHES = Split(("topics", "partitions"), ("results", "partitions"), 1)  # of which one may have thousands
_RESOURCES = Split(("resources",), ("responses",), 50)

SPLITS: Final[dict[ApiKey, Split]] = {
    ApiKey.LIST_OFFSETS: Split(("topics", "partitions"), ("topics", "partitions"), 50),
    ApiKey.OFFSET_COMMIT: _TOPICS,
    ApiKey.OFFSET_FETCH: Split(("topics", "partition_indexes"), ("topics", "partitions")),
    ApiKey.FIND_COORDINATOR: Split(("coordinator_keys",), ("coordinators",)),
    ApiKey.LEAVE_GROUP: Split(("members",), ("members",)),
    ApiKey.DESCRIBE_GROUPS: Split(("groups",), ("groups",)),
    ApiKey.CREATE_TOPICS: _WHOLE,
    ApiKey.DELETE_TOPICS: Split(("topics",), ("responses",), 100),
    ApiKey.DELETE_RECORDS: _TOPICS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _TOPICS,
    ApiKey.ADD_PARTITIONS_TO_TXN: _WHOLE,
    ApiKey.WRITE_TXN_MARKERS: Split(("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions"), 5),
    ApiKey.TXN_OFFSET_COMMIT: _TOPICS,
    ApiKey.CREATE_ACLS: _WHOLE,
    ApiKey.DELETE_ACLS: _WHOLE,
    ApiKey.DESCRIBE_CONFIGS: Split(("resources",), ("results",), 4),
    ApiKey.ALTER_CONFIGS: _RESOURCES,
    ApiKey.CREATE_PARTITIONS: Split(("topics",), ("results",)),
    ApiKey.LIST_GROUPS: _WHOLE,
    ApiKey.LIST_TRANSACTIONS: _WHOLE,
    ApiKey.DELETE_GROUPS: Split(("groups_names",), ("results",), 20),
    ApiKey.ELECT_LEADERS: Split(("topic_partitions", "partitions"), ("replica_election_results", "partition_result")),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _RESOURCES,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Split(("topics", "partitions"), ("responses", "partitions")),
    ApiKey.OFFSET_DELETE: _TOPICS,
    ApiKey.ALTER_CLIENT_QUOTAS: _WHOLE,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _WHOLE,
    ApiKey.DESCRIBE_PRODUCERS: Split(("topics", "partition_indexes"), ("topics", "partitions")),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _SHARE_STATES,
    ApiKey.READ_SHARE_GROUP_STATE: _BATCHES,
    ApiKey.WRITE_SHARE_GROUP_STATE: _BATCHES,
    ApiKey.DELETE_SHARE_GROUP_STATE: _SHARE_STATES,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _SHARE_STATES,
    ApiKey.DESCRIBE_TRANSACTIONS: Split(("transactional_ids",), ("transaction_states",)),
    ApiKey.SHARE_FETCH: _WHOLE,
    ApiKey.SHARE_ACKNOWLEDGE: _WHOLE,
    ApiKey.CONSUMER_GROUP_DESCRIBE: Split(("group_ids",), ("groups",)),
    ApiKey.STREAMS_GROUP_HEARTBEAT: _WHOLE,
    ApiKey.STREAMS_GROUP_DESCRIBE: Split(("group_ids",), ("groups",)),
}
_FETCH_BY_GROUP: Final = Split(("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions"))
_FEW: Final = 1000  # entries whose answer is encoded on the loop's thread
_NOTHING: Final = object()  # stands for the entries of an empty list

_NAMES: Final = (
    "name", "topic", "topic_id", "partition_index", "partition", "resource_type", "resource_name",
    "member_id", "group_instance_id", "group_id", "producer_id",
)  # fmt: skip

Row = tuple[Any, ...]  # an innermost entry behind the structs around it


def split_of(api: Api, version: int, body: memoryview) -> Split | None:
    """How to split a request with this body, None when it cannot be long."""
    split = SPLITS.get(api.key)
    if split is None or len(body) <= min(4 * split.entries, LONG_BODY_BYTES):
        return None
    return _FETCH_BY_GROUP if api.key is ApiKey.OFFSET_FETCH and version >= 8 else split


def handled_in_turns(api: Api, split: Split, body: memoryview, ctx: RequestContext) -> Answer:
    """The handler's answer, or the encoded answer later when there are more entries than a turn may handle."""
    if len(body) > LONG_BODY_BYTES:
        return holding_back(ctx.broker.turns.go_on(_read(api, split, bytes(body), ctx), None))
    request, rows = _decoded(api, split, body, ctx)
    assert api.handle is not None
    if len(rows) <= split.entries:
        return call(api, request, ctx)
    return holding_back(ctx.broker.turns.go_on(_handled(api, split, request, _portions(rows, split.entries), ctx), None))


def _decoded(api: Api, split: Split, body: Buffer, ctx: RequestContext) -> tuple[Any, list[Row]]:
    request = messages.decode_request(api.key, ctx.api_version, body)
    return request, list(_rows(request, split.asked))


def _read(api: Api, split: Split, body: bytes, ctx: RequestContext) -> Steps[Any]:
    """The encoded answer, like `_handled`."""

    def read() -> tuple[Any, list[list[Row]]]:
        request, rows = _decoded(api, split, body, ctx)
        return request, _portions(rows, split.entries)

    try:
        request, portions = yield read
    except MalformedRequest as malformed:
        raise CloseConnection(f"malformed {api.key.name} version {ctx.api_version}: {malformed}") from malformed
    return (yield from _handled(api, split, request, portions, ctx))


def _handled(api: Api, split: Split, request: Any, portions: list[list[Row]], ctx: RequestContext) -> Steps[Any]:
    """The encoded answer."""
    assert api.handle is not None
    replies: list[Any] = []
    for some in portions:
        reply = api.handle(_with_rows(request, split.asked, some), ctx)
        if isinstance(reply, Deferred) and reply.holds is not None:
            reply = yield reply
        else:
            yield None
        replies.append(reply)
    answer: Any = None
    for reply in replies:
        part = (yield reply) if isinstance(reply, Deferred) else reply
        if isinstance(part, MessageBase):
            ctx.broker.errors.of(api.key, part)
        if answer is None:
            answer = part
        else:
            _join(answer, part, split.answered)
    if not isinstance(answer, MessageBase):
        return answer  # its handler has encoded it
    encode = partial(messages.encode_response, api.key, ctx.api_version, answer)
    return encode() if len(portions) * split.entries <= _FEW else (yield encode)


def _rows(message: Any, path: tuple[str, ...]) -> Iterator[Row]:
    if not path:
        yield (message,)
        return
    entries = getattr(message, path[0])
    if entries is None or (not entries and len(path) == 1):
        yield (message, _NOTHING)
        return
    for entry in entries:
        if len(path) == 1:
            yield message, entry
        else:
            for row in _rows(entry, path[1:]):
                yield message, *row


def _portions(rows: list[Row], entries: int) -> list[list[Row]]:
    """Rows in portions of `entries`, in their order; what is named more than once comes last, all in one."""
    named = [tuple(map(_name, row[1:])) for row in rows]
    seen = Counter(named)
    repeated: list[Row] = []
    if len(seen) < len(rows):
        repeated = [row for row, name in zip(rows, named, strict=True) if seen[name] > 1]
        rows = [row for row, name in zip(rows, named, strict=True) if seen[name] == 1]
    portions = [rows[start : start + entries] for start in range(0, len(rows), entries)]
    return [*portions, repeated] if repeated else portions


def _name(part: Any) -> Any:
    """What an entry is about."""
    kind: Any = type(part)
    return _name_getter(kind)(part) if isinstance(part, MessageBase) else part


@functools.cache
def _name_getter(kind: Any) -> Callable[[Any], Any]:
    return attrgetter(*(name for name in _NAMES if name in kind._defaults))


def _with_rows(message: Any, path: tuple[str, ...], rows: list[Row], depth: int = 1) -> Any:
    """`message` with no other entries than those of `rows`."""
    if not path or rows[0][depth] is _NOTHING:
        return message
    entries = (
        [row[depth] for row in rows]
        if len(path) == 1
        else [_with_rows(some[0][depth], path[1:], some, depth + 1) for some in _same(rows, depth)]
    )
    return _copy(message, path[0], entries)


def _same(rows: list[Row], depth: int) -> list[list[Row]]:
    return [list(some) for _, some in groupby(rows, key=lambda row: id(row[depth]))]


def _copy(message: Any, changed: str, value: Any) -> Any:
    copy = object.__new__(type(message))
    for name in message._defaults:
        setattr(copy, name, value if name == changed else getattr(message, name))
    return copy


def _join(answer: Any, more: Any, path: tuple[str, ...]) -> None:
    """Append the entries of `more` to those of `answer`; a struct that was cut in two is one again."""
    entries, new = getattr(answer, path[0]), getattr(more, path[0])
    if len(path) > 1 and entries and new and _copy(entries[-1], path[1], None) == _copy(new[0], path[1], None):
        _join(entries[-1], new[0], path[1:])
        new = new[1:]
    entries += new
