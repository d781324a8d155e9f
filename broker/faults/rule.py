"""One rule: which requests it is about, what becomes of them, how often; made from plain values, as JSON has them.

A rule about requests is looked at when one has arrived whole and in order, before anything is done. A rule about the disk (`disk_full`,
`sync_fails`) is looked at when a log is written or synced; of its match only topic and partition count.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from oncelog.broker.faults.codes import known_codes
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


class BadRule(ValueError):
    """A rule that cannot be meant; the text says what to do."""


NUMBERS = {"nth": 1, "every": 1, "partition": 0, "min_version": 0, "max_version": 0}  # and the least they may be
TEXTS = ("client_id", "transactional_id", "group", "topic", "principal", "while")
MOST = 2**31 - 1  # of any number
MATCHES = ("api", *NUMBERS, *TEXTS, "probability", "seed")
ACTIONS: dict[str, tuple[str, ...]] = {
    "error": ("code", "force"),
    "drop_answer": ("keep_open",),
    "drop_request": ("keep_open",),
    "delay": ("ms", "when"),
    "hold": ("when",),
    "close": (),
    "reset": (),
    "throttle": ("bytes_per_second",),
    "short_write": ("bytes",),
    "reorder": (),
    "disk_full": (),
    "sync_fails": (),
}
ON_DISK = ("disk_full", "sync_fails")
_NEEDED = {"error": "code", "delay": "ms", "throttle": "bytes_per_second"}


@dataclass(frozen=True, slots=True)
class Match:
    """What must agree; None: anything. `nth` and `every` count the requests to which all else agrees, `while_rule` names a rule that must
    still be armed."""

    api: ApiKey | None = None
    min_version: int | None = None
    max_version: int | None = None
    client_id: str | None = None
    transactional_id: str | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    principal: str | None = None
    nth: int | None = None
    every: int | None = None
    probability: float | None = None
    seed: int = 0
    while_rule: str | None = None

    @property
    def looks_inside(self) -> bool:
        """The request's body has to be read."""
        return not (self.transactional_id is self.group is self.topic is None and self.partition is None)


@dataclass(frozen=True, slots=True)
class Action:
    """`type` is one of `ACTIONS`. `when`: a delay or a hold comes "before" the request is carried out, or "after" it."""

    type: str
    code: ErrorCode | None = None
    ms: float = 0.0
    when: str = "before"
    keep_open: bool = False
    bytes_per_second: int = 0
    bytes: int | None = None


@dataclass(slots=True)
class Hit:
    """One request, or one write, that a rule was applied to."""

    time_ms: int
    what: str
    client_id: str | None = None
    client: str = ""


KEPT_HITS = 1000  # of each rule, the latest


@dataclass(slots=True)
class Rule:
    """`times`: how often it is still applied, None: always. `seen`: to how many the rest of its match agreed."""

    id: str
    match: Match
    action: Action
    times: int | None = 1
    must_hit: bool = False
    seen: int = 0
    hits: int = 0
    found: list[Hit] = field(default_factory=list)
    chance: random.Random = field(default_factory=random.Random)

    @property
    def armed(self) -> bool:
        return self.times is None or self.hits < self.times

    def takes_turn(self) -> bool:
        """Everything else of the match agrees: is this one of those meant?"""
        self.seen += 1
        match = self.match
        if match.nth is not None and self.seen != match.nth:
            return False
        if match.every is not None and self.seen % match.every:
            return False
        return match.probability is None or self.chance.random() < match.probability

    def hit(self, hit: Hit) -> None:
        self.hits += 1
        self.found.append(hit)
        del self.found[:-KEPT_HITS]

    def as_json(self) -> dict[str, Any]:
        match = {name: _plain(value) for name in Match.__slots__ if (value := getattr(self.match, name)) is not None and name != "seed"}
        if self.match.probability is not None:
            match["seed"] = self.match.seed
        if "while_rule" in match:
            match["while"] = match.pop("while_rule")
        action = {"type": self.action.type}
        for name in ACTIONS[self.action.type]:
            if name != "force" and (value := getattr(self.action, name)) is not None:
                action[name] = _plain(value)
        found = [{"time_ms": hit.time_ms, "what": hit.what, "client_id": hit.client_id, "client": hit.client} for hit in self.found]
        return {"id": self.id, "match": match, "action": action, "times": self.times, "hits": self.hits, "requests": found}


def parse_rule(id: str, asked: Mapping[str, Any]) -> Rule:
    """A rule from `{"match": …, "action": …, "times": …, "must_hit": …}`; times: 1 unless told, null for always. Raises BadRule."""
    _only(asked, ("match", "action", "times", "must_hit"), "a rule")
    match = parse_match(_mapping(asked.get("match", {}), "match"))
    action = parse_action(_mapping(asked.get("action"), "action"), match.api)
    times = asked.get("times", 1)
    if times is not None:
        times = _number(times, "times", 1)
    must_hit = asked.get("must_hit", False)
    if not isinstance(must_hit, bool):
        raise BadRule(f"must_hit is true or false, not {must_hit!r}")
    if action.type in ON_DISK and any(
        getattr(match, name) is not None for name in ("api", "client_id", "transactional_id", "group", "principal", "min_version")
    ):
        raise BadRule(f"{action.type} is about a log: match it by topic and partition")
    if action.type not in ON_DISK and match == Match():
        raise BadRule('the match is empty, so every request would be hit: name at least an api, as in {"api": "EndTxn"}')
    return Rule(id, match, action, times, must_hit, chance=random.Random(match.seed))


def parse_match(asked: Mapping[str, Any]) -> Match:
    """Raises BadRule."""
    _only(asked, MATCHES, "a match")
    values: dict[str, Any] = {}
    for name, value in asked.items():
        if name == "api":
            values[name] = api_named(value)
        elif name in NUMBERS:
            values[name] = _number(value, name, NUMBERS[name])
        elif name == "seed":
            values[name] = _number(value, name, 0)
        elif name == "probability":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
                raise BadRule(f"probability is above 0 and at most 1, not {value!r}")
            values[name] = float(value)
        else:
            if not isinstance(value, str):
                raise BadRule(f"{name} is a text, not {value!r}")
            values["while_rule" if name == "while" else name] = value
    if "nth" in values and "every" in values:
        raise BadRule("nth and every exclude each other")
    return Match(**values)


def parse_action(asked: Mapping[str, Any], api: ApiKey | None) -> Action:
    """Raises BadRule, also for a code that Kafka never answers to `api`, unless `force`."""
    kind = asked.get("type")
    if not isinstance(kind, str) or kind not in ACTIONS:
        raise BadRule(f"unknown action {kind!r}{_hint(str(kind), ACTIONS)}; there are: {', '.join(ACTIONS)}")
    _only(asked, ("type", *ACTIONS[kind]), f"the action {kind}")
    needed = _NEEDED.get(kind)
    if needed is not None and needed not in asked:
        raise BadRule(f"the action {kind} needs {needed}")
    if kind == "error":
        return Action(kind, code=_code(asked["code"], api, force=asked.get("force") is True))
    if asked.get("when", "before") not in ("before", "after"):
        raise BadRule(f'when is "before" or "after", not {asked["when"]!r}')
    if not isinstance(asked.get("keep_open", False), bool):
        raise BadRule(f"keep_open is true or false, not {asked['keep_open']!r}")
    return Action(
        kind,
        ms=_number(asked.get("ms", 0), "ms", 0),
        when=asked.get("when", "before"),
        keep_open=asked.get("keep_open", False),
        bytes_per_second=_number(asked["bytes_per_second"], "bytes_per_second", 1) if kind == "throttle" else 0,
        bytes=_number(asked["bytes"], "bytes", 0) if asked.get("bytes") is not None else None,
    )


def api_named(value: Any) -> ApiKey:
    """By Kafka's name (EndTxn, END_TXN) or key (26). Raises BadRule."""
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return ApiKey(value)
        except ValueError:
            raise BadRule(f"there is no api with the key {value}") from None
    names = {key.schema_name.lower(): key for key in ApiKey}
    found = names.get(str(value).replace("_", "").lower())
    if found is None:
        raise BadRule(f"unknown api {value!r}{_hint(str(value), [key.schema_name for key in ApiKey])}")
    return found


def _code(value: Any, api: ApiKey | None, *, force: bool) -> ErrorCode:
    try:
        code = ErrorCode(value) if isinstance(value, int) and not isinstance(value, bool) else ErrorCode[str(value).upper()]
    except (KeyError, ValueError):
        raise BadRule(f"unknown error code {value!r}{_hint(str(value).upper(), [each.name for each in ErrorCode])}") from None
    if code is ErrorCode.NONE:
        raise BadRule("NONE is no error: leave the request alone instead")
    if force:
        return code
    if api is None:
        raise BadRule("which codes are right depends on the api: name it in the match, or add force")
    known = known_codes(api)
    if code not in known:
        told = ", ".join(sorted(each.name for each in known)) if known else "no code is known here"
        raise BadRule(f"Apache Kafka never answers {code.name} to {api.schema_name}, so clients need not know it; it may answer: {told}. "
                      "To send it all the same, add force")  # fmt: skip
    return code


def _only(asked: Mapping[str, Any], names: Collection[str], what: str) -> None:
    for name in asked:
        if name not in names:
            raise BadRule(f"{what} has no {name!r}{_hint(name, names)}; it may have: {', '.join(names) or 'nothing'}")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadRule(f'{what} is an object, as in {{"match": {{"api": "EndTxn"}}, "action": {{"type": "drop_answer"}}}}, not {value!r}')
    return value


def _number(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadRule(f"{name} is a whole number of at least {least}, not {value!r}")
    if value > MOST:
        raise BadRule(f"{name} is at most {MOST}")
    return value


def _hint(wrong: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(wrong, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _plain(value: Any) -> Any:
    return value.schema_name if isinstance(value, ApiKey) else value.name if isinstance(value, ErrorCode) else value
