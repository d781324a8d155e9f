"""A journal in words, and who was fenced by whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from oncelog.broker.journal.entries import Entry

_FENCED = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH")
_HEAD = ("begun", "ended", "time_ms", "connection", "client_id", "api", "version")


def story(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each entry."""
    for entry in entries:
        at = f"{datetime.fromtimestamp(entry['time_ms'] / 1000, UTC):%H:%M:%S.%f}"[:-3]
        if "start" in entry:
            yield f"{at}  the broker starts"
        else:
            yield f"{at}  {_who(entry)}  {entry['api']}  {'  '.join(_fields(entry))}".rstrip()


def fenced(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each request that was refused because somebody newer had come, and who that was as far as it is known."""
    newest: dict[str, Entry] = {}
    for entry in entries:
        id = entry.get("transactional_id")
        errors = {entry.get("error"), *entry.get("partitions", {}).values(), *(each.get("error") for each in entry.get("batches", ()))}
        for error in sorted(errors & {*_FENCED}, key=str):
            by = newest.get(id) if id is not None else None
            why = f"{_who(by)} had asked for it and got epoch {by['answered'][1]}" if by is not None else "who came after it is not known"
            yield f"{id or entry.get('group')}: {entry['api']} of {_who(entry)} was refused, {error}; {why}"
        if entry.get("api") == "InitProducerId" and entry.get("error") == "NONE" and id is not None:
            newest[id] = entry


def _who(entry: Entry) -> str:
    return f"{entry['client_id'] or '-'}@{entry['connection']}"


def _fields(entry: Entry) -> Iterator[str]:
    for name, value in entry.items():
        if name == "batches":
            for each in value:
                (first, last), (producer, epoch) = each["sequence"], each["producer"]
                told = f"at {each['offset']}" if each.get("error") == "NONE" else each.get("error", "not answered")
                who = f" by {producer}/{epoch} {first}-{last}" if producer >= 0 else ""
                yield f"{each['partition']}{who} {told}"
        elif name in ("producer", "answered"):
            yield f"{name}={value[0]}/{value[1]}"
        elif isinstance(value, dict):
            yield f"{name}={','.join(f'{key}:{_plain(each)}' for key, each in value.items()) or '-'}"
        elif name not in _HEAD and value is not None:
            yield f"{name}={str(value).lower() if isinstance(value, bool) else value}"


def _plain(value: object) -> object:
    return "+".join(f"{key}:{each}" for key, each in value.items()) if isinstance(value, dict) else value
