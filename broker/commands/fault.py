"""`oncelog fault`: make requests or disks of a running broker go wrong, by its control port."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal
from urllib.parse import quote

from cyclopts import App, Group, Parameter
from oncelog.broker.commands.client.control import DEFAULT, ControlPort
from oncelog.broker.commands.client.output import done, show

app = App(name="fault", help="Failures on demand: rules that say which requests, or writes, of a broker go wrong, and how.")
_MATCH = Group("Which requests", sort_key=1)
_ACTION = Group("What goes wrong", sort_key=2)
Type = Literal[
    "error",
    "drop_answer",
    "drop_request",
    "delay",
    "hold",
    "close",
    "reset",
    "throttle",
    "short_write",
    "reorder",
    "disk_full",
    "sync_fails",
]


@Parameter(name="*", group=_MATCH)
@dataclass(frozen=True, kw_only=True)
class Match:
    """All that is given must agree."""

    api: Annotated[str | None, Parameter(help="Kafka's name of a request, as EndTxn.")] = None
    client_id: str | None = None
    transactional_id: str | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    principal: Annotated[str | None, Parameter(help="Who is logged in, as User:alice.")] = None
    min_version: Annotated[int | None, Parameter(help="Of the request.")] = None
    max_version: Annotated[int | None, Parameter(help="Of the request.")] = None
    nth: Annotated[int | None, Parameter(help="Only the nth to which the rest agrees.")] = None
    every: Annotated[int | None, Parameter(help="Only each nth to which the rest agrees.")] = None
    probability: Annotated[float | None, Parameter(help="Only some, by chance.")] = None
    seed: Annotated[int | None, Parameter(help="Of that chance; the same seed hits the same requests.")] = None
    while_: Annotated[str | None, Parameter(name="--while", help="Only while the rule of this id is armed.")] = None


@Parameter(name="*", group=_ACTION)
@dataclass(frozen=True, kw_only=True)
class More:
    """What some actions need or may have."""

    code: Annotated[str | None, Parameter(help="error: its code, as COORDINATOR_LOAD_IN_PROGRESS.")] = None
    force: Annotated[bool, Parameter(negative=(), help="error: send a code that Apache Kafka never answers to this request.")] = False
    ms: Annotated[int | None, Parameter(help="delay: how long.")] = None
    when: Annotated[Literal["before", "after"] | None, Parameter(help="delay, hold: before the request is carried out, or after.")] = None
    keep_open: Annotated[bool, Parameter(negative=(), help="drop_answer, drop_request: leave the connection open.")] = False
    bytes_per_second: Annotated[int | None, Parameter(help="throttle: of the answer.")] = None
    bytes: Annotated[
        int | None, Parameter(help="short_write: of the answer, before the connection is closed; half of it if not given.")
    ] = None


@app.command
def add(
    *,
    action: Annotated[Type, Parameter(group=_ACTION, help="What is done to the request.")],
    match: Match = Match(),
    more: More = More(),
    times: Annotated[int, Parameter(group=_ACTION, help="How often.")] = 1,
    always: Annotated[bool, Parameter(group=_ACTION, negative=(), help="However often it comes.")] = False,
    control: ControlPort = DEFAULT,
) -> None:
    """Arm a rule and print its id."""
    asked = {"match": _given(match), "action": {"type": action} | _given(more), "times": None if always else times}
    rule = control.ask("POST", "/v1/faults", asked)
    done(rule["id"], control.format, **rule)


@app.command(name="list")
def list_rules(*, control: ControlPort = DEFAULT) -> None:
    """List rules and how often each was applied."""
    rules = control.ask("GET", "/v1/faults")["faults"]
    if control.format == "json":
        show(rules, [], control.format)
        return
    rows = [
        {"id": rule["id"], "match": _words(rule["match"]), "action": _words(rule["action"]), "times": rule["times"], "hits": rule["hits"]}
        for rule in rules
    ]
    show(rows, ["id", "match", "action", "times", "hits"], control.format, nothing="no rules")


@app.command
def release(id: str, /, *, control: ControlPort = DEFAULT) -> None:
    """Let go what a rule holds; it stays armed."""
    told = control.ask("POST", f"/v1/faults/{quote(id, safe='')}/release")
    done(f"released {told['released']}", control.format, **told)


@app.command
def remove(id: Annotated[str | None, Parameter(help="All rules if not given.")] = None, /, *, control: ControlPort = DEFAULT) -> None:
    """Remove a rule, or all, and let go what they hold."""
    told = control.ask("DELETE", "/v1/faults" if id is None else f"/v1/faults/{quote(id, safe='')}")
    done(f"removed {told['removed']}", control.format, **told)


def _given(options: Match | More) -> dict[str, Any]:
    values = {each.name.rstrip("_"): getattr(options, each.name) for each in fields(options)}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _words(asked: dict[str, Any]) -> str:
    return " ".join(str(value) if name == "type" else f"{name}={json.dumps(value)}" for name, value in asked.items())
