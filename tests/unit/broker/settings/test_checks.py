"""Settings that are fine one by one and cannot be together, at the edges of each rule."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.checks import parse_overrides
from oncelog.broker.settings.load import load
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit
TAKEN: list[dict[str, str]] = [
    {"node.id": "3", "broker.id": "3"},
    {"node.id": "3", "broker.id": "03"},
    {"broker.id": "3"},
    {"process.roles": "broker, controller"},
    {"process.roles": "controller,broker,"},
    {"node.id": "2", "controller.quorum.voters": "2@host:9093"},
    {"controller.quorum.voters": "1@[::1]:9093 , 2@other:9093"},
    {"controller.quorum.voters": ""},
    {"log.dirs": "/a"},
    {"group.share.delivery.count.limit": "10", "group.share.min.delivery.count.limit": "5"},
    {"group.share.max.share.sessions": "200"},
    {"group.consumer.session.timeout.ms": "60000"},
    {"connections.max.idle.ms": "101", "connection.failed.authentication.delay.ms": "100"},
    {"connections.max.idle.ms": "-1", "connection.failed.authentication.delay.ms": "100"},
    {"queued.max.request.bytes": "-1"},
    {"queued.max.request.bytes": "0"},
    {"queued.max.request.bytes": "2000", "socket.request.max.bytes": "2000"},
    {"max.connection.creation.rate": "0"},
    {"early.start.listeners": "plaintext, CONTROLLER"},
    {"super.users": "User:a;User:CN=b,O=c; ;"},
]
REFUSED: list[tuple[dict[str, str], str]] = [
    ({"node.id": "3", "broker.id": "4"}, "node.id=3 and broker.id=4 name one node"),
    ({"process.roles": " , "}, "is not made of broker and controller"),
    ({"process.roles": "broker,observer"}, "is not made of broker and controller"),
    ({"process.roles": "broker"}, "process.roles=broker: oncelog is broker and controller in one"),
    ({"process.roles": "controller,controller"}, "process.roles=controller: oncelog is"),
    ({"controller.quorum.voters": "1@h"}, "'1@h' is not ID@HOST:PORT"),
    ({"controller.quorum.voters": "1@a:b:1"}, "is not ID@HOST:PORT"),
    ({"controller.quorum.voters": "2@a:1,3@b:1"}, "does not name node 1"),
    (
        {"group.share.delivery.count.limit": "2", "group.share.min.delivery.count.limit": "3"},
        "group.share.delivery.count.limit=2 must be greater than or equal to group.share.min.delivery.count.limit=3",
    ),
    ({"group.share.session.timeout.ms": "60001"}, "group.share.session.timeout.ms=60001 must be less than or equal to"),
    ({"group.share.record.lock.duration.ms": "14999"}, "must be greater than or equal to group.share.min.record.lock.duration.ms=15000"),
    ({"group.share.partition.max.record.locks": "4001"}, "must be less than or equal to group.share.max.partition.max.record.locks=4000"),
    ({"group.share.assignment.interval.ms": "15001"}, "must be less than or equal to group.share.max.assignment.interval.ms=15000"),
    ({"group.consumer.heartbeat.interval.ms": "4999"}, "must be greater than or equal to group.consumer.min.heartbeat.interval.ms=5000"),
    (
        {
            "group.share.heartbeat.interval.ms": "15000",
            "group.share.session.timeout.ms": "15000",
            "group.share.min.session.timeout.ms": "10000",
        },
        "group.share.heartbeat.interval.ms=15000 must be less than group.share.session.timeout.ms=15000",
    ),
    (
        {"group.share.max.share.sessions": "199"},
        "group.share.max.share.sessions=199 must be greater than or equal to group.share.max.size=200",
    ),
    ({"log.dirs": "/a,/b"}, "log.dirs=/a,/b: oncelog keeps everything in one directory"),
    ({"connections.max.idle.ms": "100", "connection.failed.authentication.delay.ms": "100"}, "connections.max.idle.ms=100 must be more"),
    ({"connections.max.idle.ms": "0"}, "connections.max.idle.ms=0 must be more"),
    ({"queued.max.request.bytes": "1", "socket.request.max.bytes": "2000"}, "queued.max.request.bytes=1 must be at least"),
    ({"queued.max.request.bytes": "-2"}, "queued.max.request.bytes=-2 must be at least -1"),
    ({"queued.max.request.bytes": "1999", "socket.request.max.bytes": "2000"}, "must be at least socket.request.max.bytes=2000"),
    ({"max.connection.creation.rate": "-1"}, "max.connection.creation.rate=-1 must be at least 0"),
    ({"max.connection.creation.rate": "fast"}, "max.connection.creation.rate: 'fast' is not a number"),
    ({"early.start.listeners": "SSL"}, "SSL is none of the listeners (CONTROLLER, PLAINTEXT)"),
    ({"super.users": "alice"}, "'alice' is no principal; write User:alice"),
    ({"super.users": "User:a;User:"}, "'User:' is no principal; write User:NAME"),
    ({"super.users": ":bob"}, "':bob' is no principal; write User:bob"),
]


@pytest.mark.parametrize("values", TAKEN, ids=str)
def test_taken(values: dict[str, str]) -> None:
    assert dict(load(values).values) == values


@pytest.mark.parametrize(("values", "why"), REFUSED, ids=str)
def test_refused_with_what_is_wrong(values: dict[str, str], why: str) -> None:
    with pytest.raises(KafkaError) as refused:
        load(values)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert why in str(refused.value.message)


def test_nobody_may_be_kept_out_by_mistake() -> None:
    load({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"})
    for bad in ({"max.connections.per.ip": "0"}, {"max.connections.per.ip.overrides": "a"}, {"max.connections.per.ip.overrides": "a b:1"}):
        with pytest.raises(KafkaError, match=r"max\.connections\.per\.ip"):
            load(bad)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a:1", {"a": 1}),
        (" a:1 , b.c:20 ,", {"a": 1, "b.c": 20}),
        ("[::1]:6,fe80::1:7", {"::1": 6, "fe80::1": 7}),
        ("a:1,a:2", {"a": 2}),
        ("a:0", {"a": 0}),
    ],
)
def test_connections_by_host(text: str, found: dict[str, int]) -> None:
    assert parse_overrides(text) == found


@pytest.mark.parametrize("text", ["a", ":1", "a:", "a:-1", "a:x", "a:1.5", "a/b:1", "a:1;b:2"])
def test_what_is_no_host_and_number(text: str) -> None:
    with pytest.raises(KafkaError, match="HOST:NUMBER"):
        parse_overrides(f"good:1,{text}")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"controller.quorum.voters": "1@a:1,2@b:1"}, "names 2 nodes: this broker is a cluster of its own"),
        ({"controller.quorum.voters": "1@a:1"}, ""),
        ({"listener.name.external.ssl.keystore.location": "/x"}, "there is no listener external, only controller, plaintext"),
        ({"listener.name.plaintext.ssl.keystore.location": "/x"}, ""),
        ({"listener.name.controller.ssl.keystore.location": "/x"}, ""),
    ],
    ids=str,
)
def test_told_but_taken(values: dict[str, str], told: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="oncelog"):
        load(values)
    assert told in caplog.text
    assert bool(caplog.records) is bool(told)
