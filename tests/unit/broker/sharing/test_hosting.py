"""A share partition with its log and its persister: what a write that fails, or comes late, does."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.sharing.acquiring import Wanted
from oncelog.broker.sharing.hosting import AGAIN_MS, Fetched, Refused, ShareHost
from oncelog.broker.sharing.partition import ACCEPT, RELEASE, AcknowledgedBatch
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.share.persister import PersistedState, SharePartitionKey
from oncelog.protocol.errors import ErrorCode
from support.share_group import configure
from support.whole_broker import WholeBroker

KEY = SharePartitionKey("g", uuid.UUID(int=5), 0)
WANTED = Wanted("a", 500)


class Persister:
    """Answers when told."""

    def __init__(self) -> None:
        self.state: Any = PersistedState(1, 0, 0, ())
        self.writes: list[Deferred[ErrorCode]] = []
        self.at_once: ErrorCode | None = None

    def read(self, _key: SharePartitionKey, _leader_epoch: int) -> Any:
        return self.state

    def write(self, *_what: Any) -> Any:
        if self.at_once is not None:
            return self.at_once
        self.writes.append(Deferred())
        return self.writes[-1]


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"t": 1})
    made.append("t", *[b"v"] * 5)
    configure(made, "g", {"share.auto.offset.reset": "earliest"})
    yield made
    made.close()


@pytest.fixture
def persister() -> Persister:
    return Persister()


@pytest.fixture
def host(broker: WholeBroker, persister: Persister) -> ShareHost:
    return made(broker, persister)


def made(broker: WholeBroker, persister: Persister) -> ShareHost:
    context = broker.context
    found = ShareHost(
        KEY, broker.log("t"), persister, broker.clock, context.turns, lambda: context.sharing.settings("g"), lambda _host: None
    )  # type: ignore[arg-type]
    found.load()
    return found


def acquired(host: ShareHost) -> list[tuple[int, int, int]]:
    fetched = host.fetch(WANTED, 1 << 20, 1 << 20)
    assert isinstance(fetched, Fetched)
    return [tuple(each) for each in fetched.acquired]


def acknowledge(host: ShareHost, kind: int) -> Deferred[Refused]:
    reply = host.acknowledge("a", [AcknowledgedBatch(0, 4, [kind])])
    assert isinstance(reply, Deferred)
    return reply


def test_told_when_written(host: ShareHost, persister: Persister) -> None:
    assert acquired(host) == [(0, 4, 1)]
    reply = acknowledge(host, ACCEPT)
    assert not reply.done
    assert not host.idle
    persister.writes[0].resolve(ErrorCode.NONE)
    assert reply.result() == Refused()
    assert host.partition is not None
    assert (host.partition.start_offset, host.idle) == (5, True)


def test_rolled_back_when_not(host: ShareHost, persister: Persister) -> None:
    acquired(host)
    for told, code in (
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        reply = acknowledge(host, ACCEPT)
        persister.writes[-1].resolve(told)
        assert reply.result().code is code
    assert not host.gone
    reply = acknowledge(host, ACCEPT)
    persister.writes[-1].resolve(ErrorCode.FENCED_STATE_EPOCH)
    assert (reply.result().code, host.gone) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)


def test_waiting_ones_are_told_of_what_is_free(host: ShareHost, persister: Persister, broker: WholeBroker) -> None:
    told: list[bool] = []

    def listener() -> None:
        told.append(host.may_give())

    host.add_change_listener(listener)
    acquired(host)
    acknowledge(host, RELEASE)
    assert (told, host.may_give()) == ([], False)
    persister.writes[0].resolve(ErrorCode.NONE)
    assert told == [True]
    broker.append("t", b"v")
    assert len(told) == 2
    host.remove_change_listener(listener)
    broker.append("t", b"v")
    host.dismiss()
    assert len(told) == 2


def test_a_lock_whose_release_cannot_be_written_is_tried_again_later(host: ShareHost, persister: Persister, broker: WholeBroker) -> None:
    acquired(host)
    persister.at_once = ErrorCode.KAFKA_STORAGE_ERROR
    broker.advance(30_000)
    host.expire()
    now_ms = broker.clock.monotonic_ms()
    assert host.next_deadline_ms() == now_ms + AGAIN_MS
    assert not host.may_give()
    persister.at_once = ErrorCode.NONE
    broker.advance(AGAIN_MS)
    host.expire()
    assert acquired(host) == [(0, 4, 2)]


def test_loading_takes_its_time(broker: WholeBroker, persister: Persister) -> None:
    state, persister.state = persister.state, Deferred()
    host = made(broker, persister)
    assert (host.may_give(), acquired(host), host.release("a")) == (False, [], ErrorCode.NONE)
    early = host.acknowledge("a", [AcknowledgedBatch(0, 4, [ACCEPT])])
    assert isinstance(early, Refused)
    assert early.code is ErrorCode.INVALID_RECORD_STATE
    persister.state.resolve(state)
    assert acquired(host) == [(0, 4, 1)]


def test_a_load_that_fails(broker: WholeBroker, persister: Persister) -> None:
    persister.state = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    host = made(broker, persister)
    assert host.fetch(WANTED, 1, 1) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert host.gone


def test_a_start_that_the_group_decides(broker: WholeBroker, persister: Persister) -> None:
    persister.state = PersistedState(1, -1, 0, ())
    assert acquired(made(broker, persister)) == [(0, 4, 1)]
    configure(broker, "g", {"share.auto.offset.reset": "latest"})
    host = made(broker, persister)
    assert acquired(host) == []
    broker.append("t", b"v")
    assert acquired(host) == [(5, 5, 1)]


def test_a_start_beyond_the_log(broker: WholeBroker, persister: Persister) -> None:
    persister.state = PersistedState(1, 100, 0, ())
    host = made(broker, persister)
    assert (host.may_give(), acquired(host), host.readable_bytes(10)) == (False, [], 0)


def test_a_log_that_is_offline(host: ShareHost, broker: WholeBroker) -> None:
    broker.log("t").retire("gone")
    assert host.may_give()
    assert host.fetch(WANTED, 1 << 20, 1 << 20) is ErrorCode.KAFKA_STORAGE_ERROR
