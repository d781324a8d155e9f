"""KIP-227 sessions: every (session id, epoch) a client can send."""

from __future__ import annotations

from oncelog.broker.fetching.sessions import MAX_EPOCH, MIN_EVICTION_MS, FetchSessions
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.hot import FetchPartition, FetchPartitionData, FetchRequest
from support.inline import SeededRandom


def request(
    session_id: int = 0, epoch: int = 0, *partitions: int, topic: str = "t", forget: tuple[int, ...] = (), isolation: int = 0
) -> FetchRequest:
    made = FetchRequest()
    made.session_id, made.session_epoch, made.isolation_level = session_id, epoch, isolation
    made.topics = [(topic, None, [FetchPartition(p, -1, 0, -1, -1, 1000) for p in partitions])] if partitions else []
    made.forgotten = [(topic, None, list(forget))] if forget else []
    return made


def sessions(slots: int = 2) -> FetchSessions:
    return FetchSessions(slots, SeededRandom(1))


def data(partition: int, watermark: int = 0, records: bytes = b"", error: int = 0) -> FetchPartitionData:
    return FetchPartitionData(partition, error, watermark, watermark, 0, None, records)


def keys(context: object) -> list[int]:
    return [key[1] for key, _ in context.partitions]  # type: ignore[attr-defined]


def test_sessionless_is_not_remembered() -> None:
    cache = sessions()
    context = cache.resolve(request(0, -1, 0, 1), False, 0)
    assert (context.session_id, keys(context), len(cache)) == (0, [0, 1], 0)


def test_a_full_request_opens_a_session_even_without_partitions() -> None:
    cache = sessions()
    assert cache.resolve(request(0, 0), False, 0).session_id > 0
    assert cache.resolve(request(77, 0, 1), False, 0).session_id > 0


def test_incremental_answers_tell_only_what_is_new() -> None:
    cache = sessions()
    first = cache.resolve(request(0, 0, 0, 1), False, 0)
    told = first.told([(("t", 0), data(0)), (("t", 1), data(1))])
    assert [[p.index for p in parts] for _, parts in told] == [[0, 1]]
    second = cache.resolve(request(first.session_id, 1), False, 0)
    assert keys(second) == [0, 1]
    assert second.told([(("t", 0), data(0)), (("t", 1), data(1))]) == []
    third = cache.resolve(request(first.session_id, 2), False, 0)
    told = third.told([(("t", 0), data(0, 5, b"x")), (("t", 1), data(1, 3))])
    assert [[p.index for p in parts] for _, parts in told] == [[0, 1]]
    fourth = cache.resolve(request(first.session_id, 3), False, 0)
    assert keys(fourth) == [1, 0], "a partition that gave records goes to the end"


def test_an_error_is_told_every_time() -> None:
    cache = sessions()
    context = cache.resolve(request(0, 0, 0), False, 0)
    for epoch in range(1, 4):
        context.told([(("t", 0), data(0, -1, error=3))])
        context = cache.resolve(request(context.session_id, epoch), False, 0)
        assert context.told([(("t", 0), data(0, -1, error=3))]) != []


def test_forgotten_partitions_leave_and_an_empty_session_ends() -> None:
    cache = sessions()
    opened = cache.resolve(request(0, 0, 0, 1), False, 0)
    assert keys(cache.resolve(request(opened.session_id, 1, forget=(0,)), False, 0)) == [1]
    assert cache.resolve(request(opened.session_id, 2, forget=(1,)), False, 0).session_id == 0
    assert len(cache) == 0


def test_wrong_ids_epochs_and_kinds() -> None:
    cache = sessions()
    opened = cache.resolve(request(0, 0, 0), False, 0).session_id
    assert cache.resolve(request(opened + 1, 1), False, 0).error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.resolve(request(0, 5), False, 0).error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.resolve(request(opened, 2), False, 0).error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert cache.resolve(request(opened, 1), True, 0).error is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert cache.resolve(request(opened, -1, 0), False, 0).session_id == 0
    assert len(cache) == 0


def test_epochs_wrap_to_one() -> None:
    cache = sessions()
    context = cache.resolve(request(0, 0, 0), False, 0)
    assert context.session is not None
    context.session.epoch = MAX_EPOCH
    cache.resolve(request(context.session_id, MAX_EPOCH), False, 0)
    assert context.session.epoch == 1


def test_only_idle_sessions_make_room() -> None:
    cache = sessions(slots=1)
    first = cache.resolve(request(0, 0, 0), False, 0).session_id
    assert cache.resolve(request(0, 0, 0), False, MIN_EVICTION_MS - 1).session_id == 0
    second = cache.resolve(request(0, 0, 0), False, MIN_EVICTION_MS).session_id
    assert second not in (0, first)
