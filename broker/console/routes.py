"""What the API answers: each path a function from a source and what was asked to values that JSON has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oncelog.broker.console.commands import kafka_transactions_abort
from oncelog.broker.console.life import life
from oncelog.broker.console.listings import group_row, partition_row, places_of, transaction_row, transactions_sorted
from oncelog.broker.console.model import OpenTransaction, Partition, Refused, Source, Transaction
from oncelog.broker.console.partition_view import MOST_BATCHES, partition, records
from oncelog.broker.console.shards import by_producer
from oncelog.broker.console.stuck import owner_of, stuck
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition

BAD_REQUEST, NOT_FOUND, CONFLICT, NOT_HERE = 400, 404, 409, 501
MOST_ROWS, ROWS, MOST_GROUPS, GROUPS = 1000, 200, 100, 50
MOST_EVENTS = 1000
DEFAULT_BATCHES = 500


class Asked(NamedTuple):
    """`path` and `query`: texts by name; `body`: an object, empty where none was sent."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]

    def number(self, name: str, default: int, most: int) -> int:
        """A number of the query. Raises Refused(400)."""
        text = self.query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= 19):
            raise Refused(BAD_REQUEST, f"{name}={text[:40]!r} is no whole number")
        return min(int(text), most)

    def place(self) -> TopicPartition:
        """The partition that the path names. Raises Refused(404)."""
        number = self.path["n"]
        if not (number.isascii() and number.isdecimal() and len(number) <= 10):
            raise Refused(NOT_FOUND, f"{number[:40]!r} is no number of a partition")
        return TopicPartition(self.path["topic"], int(number))


class Listed(NamedTuple):
    """Some rows of a list of `total`."""

    rows: Sequence[Any]
    total: int


Route = Callable[[Source, Asked], Awaitable[Any]]


async def overview(source: Source, asked: Asked) -> dict[str, Any]:
    facts = await source.facts()
    counts = {"topics": facts.topics, "partitions": facts.partitions}
    counts |= {"transactional_ids": len(await source.transactions()), "open_transactions": len(await source.transactions(only_open=True))}
    counts |= {"groups": len(await source.groups()), "stuck": len(await source.behind())}
    counts |= {"fencings": len(await source.fencings()), "lint": len(await source.lint())}
    return {
        "source": source.kind,
        "name": facts.name,
        "cluster_id": facts.cluster_id,
        "version": facts.version,
        "now_ms": source.now_ms(),
        "can": dict(facts.can),
        "counts": counts,
        "problem": facts.problem,
    }


async def stuck_rows(source: Source, asked: Asked) -> Listed:
    return _page(await stuck(source), asked)


async def transactions(source: Source, asked: Asked) -> Listed:
    states = frozenset(asked.query.get("state", "").split(",")) - {""}
    found = transactions_sorted(await source.transactions(), states, asked.query.get("q", ""))
    page = _page(found, asked)
    return Listed([transaction_row(each, source.now_ms()) for each in page.rows], page.total)


async def transaction_life(source: Source, asked: Asked) -> dict[str, Any]:
    id = asked.path["id"]
    known = await _transaction(source, id)
    events, complete = await life(source, id, asked.number("limit", MOST_EVENTS, MOST_EVENTS))
    if known is None and not events:
        raise Refused(NOT_FOUND, f"there is no transactional id {id}")
    row = None if known is None else transaction_row(known, source.now_ms())
    return {"transaction": row, "complete": complete, "events": events}


async def abort(source: Source, asked: Asked) -> dict[str, Any]:
    """What is open of an id, or of a producer that no id has."""
    if not (await source.facts()).can["abort"]:
        raise Refused(NOT_HERE, "a directory is only read: abort it where the broker runs")
    if asked.body:
        return await _abort_hanging(source, asked)
    id = asked.path["id"]
    known = await _transaction(source, id)
    if known is None:
        raise Refused(NOT_FOUND, f"there is no transactional id {id}")
    if known.state != "Ongoing":
        raise Refused(CONFLICT, f"{id} has no transaction that could be aborted: it is in state {known.state}")
    command = await _command(source, known)
    by = await source.abort(known)
    sentence = f"The transaction of {id} is aborted; its producer is fenced."
    return {"aborted": True, "transactional_id": id, "by": by, "sentence": sentence, "command": command}


async def _command(source: Source, known: Transaction) -> str | None:
    for place in sorted(known.partitions, key=lambda place: (place.topic in INTERNAL_TOPICS, place)):
        for each in await source.open_on(place):
            if each.producer_id in known.producer_ids:
                return kafka_transactions_abort(source.bootstrap, place, each.first_offset)
    return None


async def _abort_hanging(source: Source, asked: Asked) -> dict[str, Any]:
    body = asked.body
    try:
        place = TopicPartition(str(body["topic"]), int(body["partition"]))
        producer_id, epoch = int(body["producer_id"]), int(body["producer_epoch"])
    except (KeyError, TypeError, ValueError):
        raise Refused(BAD_REQUEST, 'a hanging transaction is named by {"topic", "partition", "producer_id", "producer_epoch"}') from None
    found = [each for each in await source.open_on(place) if (each.producer_id, each.producer_epoch) == (producer_id, epoch)]
    if not found:
        raise Refused(CONFLICT, f"{place} has no open transaction of producer {producer_id} epoch {epoch}")
    await _nobodys(source, place, found[0])
    by = await source.abort_hanging(place, found[0])
    command = kafka_transactions_abort(source.bootstrap, place, found[0].first_offset)
    sentence = f"The transaction of producer {producer_id} on {place} is aborted."
    return {"aborted": True, "transactional_id": None, "by": by, "sentence": sentence, "command": command}


async def _nobodys(source: Source, place: TopicPartition, opened: OpenTransaction) -> None:
    """A marker in a live transaction would tear it on a foreign Kafka. Raises Refused(409)."""
    owner = owner_of(place, opened, by_producer(await source.transactions(only_open=True)))
    if owner is not None:
        raise Refused(CONFLICT, f"it is no hanging one: {owner.transactional_id} is going to end it; abort that id")


async def partitions(source: Source, asked: Asked) -> Listed:
    part = asked.query.get("q", "")
    found = sorted((each for each in await source.partitions() if part in each.place.topic), key=lambda each: each.place)
    page = _page(found, asked)
    return Listed([partition_row(each) for each in page.rows], page.total)


async def one_partition(source: Source, asked: Asked) -> dict[str, Any]:
    begin = asked.number("from", -1, (1 << 63) - 1)
    most = max(asked.number("batches", DEFAULT_BATCHES, MOST_BATCHES), 1)
    return await partition(source, asked.place(), None if begin < 0 else begin, most)


async def one_batch(source: Source, asked: Asked) -> dict[str, Any]:
    if "offset" not in asked.query:
        raise Refused(BAD_REQUEST, "?offset= of a batch is missing")
    place = asked.place()
    if place not in await source.edges([place]):
        raise Refused(NOT_FOUND, f"there is no partition {place}")
    return await records(source, place, asked.number("offset", 0, (1 << 63) - 1), values=asked.query.get("values") == "1")


async def groups(source: Source, asked: Asked) -> Listed:
    part = asked.query.get("q", "")
    found = sorted((each for each in await source.groups() if part in each.group_id), key=lambda each: each.group_id)
    page = _page(found, asked, GROUPS, MOST_GROUPS)
    return Listed(await _group_rows(source, page.rows), page.total)


async def one_group(source: Source, asked: Asked) -> dict[str, Any]:
    id = asked.path["id"]
    found = [each for each in await source.groups() if each.group_id == id]
    if not found:
        raise Refused(NOT_FOUND, f"there is no group {id}")
    (row,) = await _group_rows(source, found)
    return row


async def _group_rows(source: Source, found: Iterable[Any]) -> list[dict[str, Any]]:
    owners = by_producer(await source.transactions(only_open=True))
    rows = []
    for group in found:
        edges: Mapping[TopicPartition, Partition] = await source.edges(places_of(group))
        rows.append(group_row(group, edges.get, owners))
        await asyncio.sleep(0)
    return rows


async def fencings(source: Source, asked: Asked) -> Listed:
    wanted = {name: asked.query[name] for name in ("kind", "transactional_id", "group_id") if name in asked.query}
    return _page([row for row in await source.fencings() if all(row[name] == value for name, value in wanted.items())], asked)


async def lint(source: Source, asked: Asked) -> Listed:
    return _page(await source.lint(), asked)


async def _transaction(source: Source, id: str) -> Transaction | None:
    return next((each for each in await source.transactions() if each.transactional_id == id), None)


def _page(rows: Sequence[Any], asked: Asked, default: int = ROWS, most: int = MOST_ROWS) -> Listed:
    begin = asked.number("offset", 0, 1 << 40)
    return Listed(rows[begin : begin + max(asked.number("limit", default, most), 1)], len(rows))


ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/api/v1/overview"): overview,
    ("GET", "/api/v1/stuck"): stuck_rows,
    ("GET", "/api/v1/transactions"): transactions,
    ("GET", "/api/v1/transactions/{id:path}/life"): transaction_life,
    ("POST", "/api/v1/transactions/{id:path}/abort"): abort,
    ("GET", "/api/v1/partitions"): partitions,
    ("GET", "/api/v1/partitions/{topic}/{n}"): one_partition,
    ("GET", "/api/v1/partitions/{topic}/{n}/records"): one_batch,
    ("GET", "/api/v1/groups"): groups,
    ("GET", "/api/v1/groups/{id:path}"): one_group,
    ("GET", "/api/v1/fencings"): fencings,
    ("GET", "/api/v1/lint"): lint,
}
