"""Requests are counted as they are answered, refused or put off."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.control.counting import BOUNDS, TIMED, CountingHandler, Latencies, RequestCounts
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol.api_keys import ApiKey

pytestmark = pytest.mark.unit
END_TXN = memoryview(bytes([0, ApiKey.END_TXN, 0, 5, 0, 0, 0, 1]))


class Handler:
    clock: Any = None

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def handle(self, frame: memoryview, connection: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def log_failure(self, connection: Any, error: BaseException) -> None:
        raise error


class Plain:
    sasl = None


class Tokens:
    class sasl:
        takes_tokens = True


def test_what_is_answered_is_counted_by_api() -> None:
    counts = RequestCounts()
    handler: Any = CountingHandler(Handler(b"answer"), counts)
    for _ in range(TIMED):
        assert handler.handle(END_TXN, Plain) == b"answer"
    assert (counts.by_key[ApiKey.END_TXN], counts.refused) == (TIMED, 0)
    assert sum(counts.latencies[ApiKey.END_TXN].buckets) == 1


def test_some_apis_are_handled_aside_and_counted_alike() -> None:
    counts = RequestCounts()
    handler: Any = CountingHandler(Handler(b""), counts)
    handler.use(Handler(b"plain"), {ApiKey.END_TXN: Handler(b"aside").handle})
    heartbeat = memoryview(bytes([0, ApiKey.HEARTBEAT, 0, 4]))
    assert [handler.handle(frame, Plain) for frame in (END_TXN, heartbeat)] == [b"aside", b"plain"]
    assert (counts.by_key[ApiKey.END_TXN], counts.by_key[ApiKey.HEARTBEAT]) == (1, 1)
    handler.use(Handler(b"faulty"))
    assert handler.handle(END_TXN, Plain) == b"faulty"


@pytest.mark.parametrize("frame", [END_TXN, memoryview(b""), memoryview(b"\0")])
def test_what_closes_its_connection_is_refused_and_not_counted_as_answered(frame: memoryview) -> None:
    counts = RequestCounts()
    handler: Any = CountingHandler(Handler(CloseConnection("no such api")), counts)
    for _ in range(TIMED):
        with pytest.raises(CloseConnection):
            handler.handle(frame, Plain)
    assert (sum(counts.by_key), counts.refused, counts.latencies) == (0, TIMED, {})


def test_the_time_of_an_answer_that_comes_later_is_that_of_its_coming() -> None:
    counts = RequestCounts()
    counts.by_key[ApiKey.END_TXN] = TIMED - 1
    later: Deferred[bytes] = Deferred()
    handler: Any = CountingHandler(Handler(later), counts)
    assert handler.handle(END_TXN, Plain) is later
    assert counts.latencies == {}
    later.resolve(b"answer")
    assert sum(counts.latencies[ApiKey.END_TXN].buckets) == 1


def test_bare_tokens_are_no_requests() -> None:
    counts = RequestCounts()
    handler: Any = CountingHandler(Handler(b"ok"), counts)
    assert handler.handle(END_TXN, Tokens) == b"ok"
    assert sum(counts.by_key) == 0


def test_a_failure_is_handed_on() -> None:
    handler: Any = CountingHandler(Handler(b""), RequestCounts())
    with pytest.raises(RuntimeError):
        handler.log_failure(Plain, RuntimeError("ours"))


def test_a_time_at_a_bound_is_below_it() -> None:
    latencies = Latencies()
    for seconds in (BOUNDS[0], BOUNDS[0] * 1.01, BOUNDS[-1], BOUNDS[-1] + 1):
        latencies.add(seconds)
    assert latencies.buckets == [1, 1, *[0] * (len(BOUNDS) - 3), 1, 1]
    assert latencies.seconds == pytest.approx(BOUNDS[0] * 2.01 + BOUNDS[-1] * 2 + 1)
