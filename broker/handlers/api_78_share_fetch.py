"""ShareFetch (78), v1-2.

Opens, goes on with or closes a share session (KIP-932), carries acknowledgements, and acquires records for the member. v2: exact numbers
of records (KIP-1206), locks that are renewed (KIP-1222). Membership of the group is not asked for, as in Apache Kafka.
The answer waits for records up to max_wait_ms, and for its acknowledgements to be on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.answers import both, holding_back, later, then
from oncelog.broker.net.dispatch import api
from oncelog.broker.sharing.acknowledging import NO_ID, Acknowledged, Verdicts, acknowledge, check_member, leader, named
from oncelog.broker.sharing.acquiring import Wanted
from oncelog.broker.sharing.fetching import Found, ShareFetch
from oncelog.broker.sharing.hosting import Fetched, Refused
from oncelog.broker.sharing.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession, TopicIdPartition
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot.share_fetch import ShareFetchPartitionData, pack_share_fetch_response
from oncelog.protocol.primitives import Piece

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

_EXACT = 1  # share_acquire_mode
_RENEWING = 2
_E = ErrorCode


@api(ApiKey.SHARE_FETCH, 1, 2)
def handle(req: messages.ShareFetchRequest, ctx: RequestContext) -> Reply[list[Piece]]:
    """Acknowledge, then acquire."""
    try:
        group_id = check_member(ctx, req.group_id, req.member_id)
        asked = named(req.topics)
        _check(req, asked)
        session = _session(req, group_id, asked, ctx)
    except KafkaError as error:
        refusal = pack_share_fetch_response(error.code, 0, [])
        if error.code is _E.SHARE_SESSION_LIMIT_REACHED and req.max_wait_ms > 0:
            return holding_back(later(refusal, req.max_wait_ms))  # else the client would ask again and again
        return refusal
    reply = ctx.broker.turns.begin(_steps(req, ctx, session, asked))
    return holding_back(reply) if isinstance(reply, Deferred) else reply


def _check(req: messages.ShareFetchRequest, asked: list[Acknowledged]) -> None:
    """Raises KafkaError 42."""
    if req.share_session_epoch == INITIAL_EPOCH and any(each.batches for each in asked):
        raise KafkaError(_E.INVALID_REQUEST)
    if req.is_renew_ack and (req.max_bytes or req.min_bytes or req.max_records or req.max_wait_ms):
        raise KafkaError(_E.INVALID_REQUEST)


def _session(req: messages.ShareFetchRequest, group_id: str, asked: list[Acknowledged], ctx: RequestContext) -> ShareSession:
    """The member's, as the request has it. Raises KafkaError 122, 123, 133."""
    sharing = ctx.broker.sharing
    if req.share_session_epoch == INITIAL_EPOCH:
        session = sharing.begin_session(group_id, req.member_id or "", ctx.connection)
    else:
        session = sharing.sessions.go_on(group_id, req.member_id or "", req.share_session_epoch)
    forgotten = (TopicIdPartition(topic.topic_id or NO_ID, index) for topic in req.forgotten_topics_data for index in topic.partitions)
    session.update((each.where for each in asked), forgotten)
    return session


def _steps(
    req: messages.ShareFetchRequest, ctx: RequestContext, session: ShareSession, asked: list[Acknowledged]
) -> Steps[Reply[list[Piece]]]:
    member_id = session.member_id
    lock_ms = ctx.broker.sharing.settings(session.group_id).limits.lock_ms
    verdicts = yield from acknowledge(ctx, session.group_id, member_id, asked, renews=ctx.api_version >= _RENEWING and req.is_renew_ack)
    fetched: Reply[Found] = {}
    if req.share_session_epoch == FINAL_EPOCH:
        fetched = then(ctx.broker.sharing.close(session), lambda _codes: {})
    elif not (ctx.api_version >= _RENEWING and req.is_renew_ack):
        exact = ctx.api_version >= _RENEWING and req.share_acquire_mode == _EXACT
        wanted = Wanted(member_id, req.max_records, req.batch_size, exact)
        fetched = yield from ShareFetch(ctx, session, wanted, req.max_wait_ms, req.min_bytes, req.max_bytes).steps()
    opening = req.share_session_epoch == INITIAL_EPOCH
    return both(verdicts, fetched, lambda verdicts, found: _answer(ctx, lock_ms, verdicts, found, everything=opening))


def _answer(ctx: RequestContext, lock_ms: int, verdicts: Verdicts, found: Found, *, everything: bool) -> list[Piece]:
    """Partitions that have records, an error or a verdict; the first answer of a session has all that could be looked at."""
    topics: dict[bytes, list[ShareFetchPartitionData]] = {}
    moved = False
    for where in dict.fromkeys((*found, *verdicts)):
        fetched = found.get(where, _NOTHING)
        refused = verdicts.get(where)
        error = fetched if isinstance(fetched, ErrorCode) else _E.NONE
        records, acquired = _NOTHING if isinstance(fetched, ErrorCode) else fetched
        if not (everything or error or acquired or refused is not None):
            continue
        refused = refused or Refused()
        node_id, epoch = leader(ctx, where, error, refused.code)
        moved = moved or _E.NOT_LEADER_OR_FOLLOWER in (error, refused.code)
        topics.setdefault(where.topic_id.bytes, []).append(
            ShareFetchPartitionData(where.partition, error, refused.code, refused.text, node_id, epoch, records, acquired)
        )
    node = (ctx.broker.node_id, *ctx.broker.endpoint_for(ctx.connection)) if moved else None
    return pack_share_fetch_response(_E.NONE, lock_ms, list(topics.items()), node)


_NOTHING = Fetched(b"", [])
