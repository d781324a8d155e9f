"""What the control port serves: each route a function from what was asked, as JSON has it, to what is answered."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.faults.rule import BadRule, Rule
from oncelog.broker.testkit.controlled import Controlled
from oncelog.broker.testkit.crash_points import POINTS
from oncelog.broker.testkit.state import state_pieces

MOST_RULES = 1000
MOST_SECONDS = 366 * 86_400  # in one request
REQUESTS_LISTED = 20  # the latest of each rule, where all rules are listed
OK, CREATED, BAD_REQUEST, NOT_FOUND, CONFLICT, UNAVAILABLE = 200, 201, 400, 404, 409, 503


class Refused(Exception):
    """What was asked cannot be had; the text says what to do."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Answer(NamedTuple):
    """A status and what JSON is made of; an iterator: JSON in pieces, made in turns of the loop."""

    status: int
    body: Any


class Asked(NamedTuple):
    """`body`: an object, empty where none was sent; `id`: of the rule that the path names."""

    body: Mapping[str, Any]
    id: str = ""


class Control:
    """A broker, and the routes to it. What moves its time or starts it anew is done one at a time."""

    def __init__(self, controlled: Controlled) -> None:
        self._controlled = controlled
        self._one_at_a_time = asyncio.Lock()

    # -- rules

    async def add_fault(self, asked: Asked) -> Answer:
        faults = self._controlled.faults
        if len(faults.rules) >= MOST_RULES:
            raise Refused(CONFLICT, f"there are {MOST_RULES} rules, and no more may be: remove some by DELETE /v1/faults/{{id}}")
        try:
            rule = faults.add(asked.body)
        except BadRule as wrong:
            raise Refused(BAD_REQUEST, str(wrong)) from None
        return Answer(CREATED, rule.as_json())

    async def list_faults(self, asked: Asked) -> Answer:
        return Answer(OK, {"faults": [_listed(rule) for rule in self._controlled.faults.rules.values()]})

    async def show_fault(self, asked: Asked) -> Answer:
        return Answer(OK, self._rule(asked).as_json())

    async def release_fault(self, asked: Asked) -> Answer:
        return Answer(OK, {"released": self._controlled.faults.release(self._rule(asked).id)})

    async def remove_fault(self, asked: Asked) -> Answer:
        rule = self._rule(asked)
        try:
            self._controlled.faults.remove(rule.id)
        except NeverHit as wrong:
            raise Refused(CONFLICT, str(wrong)) from None
        return Answer(OK, {"removed": rule.id, "hits": rule.hits})

    async def remove_faults(self, asked: Asked) -> Answer:
        count = len(self._controlled.faults.rules)
        wrong = self._controlled.faults.clear()
        if wrong:
            raise Refused(CONFLICT, "; ".join(wrong))
        return Answer(OK, {"removed": count})

    def _rule(self, asked: Asked) -> Rule:
        rules = self._controlled.faults.rules
        if asked.id not in rules:
            raise Refused(NOT_FOUND, f"there is no rule {asked.id}; there are: {', '.join(rules) or 'none'}")
        return rules[asked.id]

    # -- time

    async def show_clock(self, asked: Asked) -> Answer:
        clock = self._controlled.clock
        return Answer(OK, {"now_ms": clock.time_ms(), "virtual": clock.stands})

    async def advance(self, asked: Asked) -> Answer:
        seconds = _only(asked.body, "seconds")
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not math.isfinite(seconds) or not 0 <= seconds <= MOST_SECONDS:
            raise Refused(BAD_REQUEST, f'{{"seconds": {seconds!r}}}: time is moved by 0 to {MOST_SECONDS} seconds')
        self._controlled.running  # noqa: B018 raises Down
        async with self._one_at_a_time:
            return Answer(OK, {"now_ms": await self._controlled.advance(seconds)})

    # -- crashes

    async def list_crash_points(self, asked: Asked) -> Answer:
        armed = [{"point": each.point, "left": each.left} for each in self._controlled.crash_points.armed()]
        return Answer(OK, {"points": POINTS, "armed": armed})

    async def arm_crash(self, asked: Asked) -> Answer:
        point, nth = _only(asked.body, "point", "nth")
        if not isinstance(point, str):
            raise Refused(BAD_REQUEST, f'{{"point": …}} names one of: {", ".join(POINTS)}')
        nth = 1 if nth is None else nth
        if isinstance(nth, bool) or not isinstance(nth, int):
            raise Refused(BAD_REQUEST, f"nth={nth!r}: a whole number, the first time is 1")
        try:
            self._controlled.crash_points.arm(point, nth)
        except ValueError as wrong:
            raise Refused(BAD_REQUEST, str(wrong)) from None
        return Answer(CREATED, {"point": point, "nth": nth})

    async def disarm_crashes(self, asked: Asked) -> Answer:
        count = len(self._controlled.crash_points.armed())
        self._controlled.crash_points.disarm()
        return Answer(OK, {"disarmed": count})

    # -- the broker

    async def reset(self, asked: Asked) -> Answer:
        async with self._one_at_a_time:
            try:
                await self._controlled.reset()
            except PermissionError as refused:
                raise Refused(CONFLICT, str(refused)) from None
        return Answer(OK, {"reset": True})

    async def show_state(self, asked: Asked) -> Answer:
        return Answer(OK, state_pieces(self._controlled.running))

    async def is_alive(self, asked: Asked) -> Answer:
        return Answer(OK, {"alive": True})

    async def is_ready(self, asked: Asked) -> Answer:
        if self._controlled.broker is None:
            raise Refused(UNAVAILABLE, "the broker is down, or on its way up")
        return Answer(OK, {"ready": True})


@dataclass(frozen=True, slots=True)
class Route:
    """`path` as OpenAPI writes it. `example`: a body that may be sent, None: there is none."""

    method: str
    path: str
    does: str
    carry_out: Callable[[Control, Asked], Awaitable[Answer]]
    example: Mapping[str, Any] | None = None
    status: int = OK


_RULE = {"match": {"api": "EndTxn", "transactional_id": "orders-1", "nth": 1}, "action": {"type": "drop_answer"}, "times": 1}
ROUTES = (
    Route("GET", "/livez", "The process answers. Needs no token.", Control.is_alive),
    Route("GET", "/readyz", "Clients are served; 503 while they are not. Needs no token.", Control.is_ready),
    Route("GET", "/v1/faults", "Each rule, how often it was applied, and to which requests lately.", Control.list_faults),
    Route("POST", "/v1/faults", "Arm a rule. Without times it is applied once, with null always.", Control.add_fault, _RULE, CREATED),
    Route("DELETE", "/v1/faults", "Remove all rules. 409, when one with must_hit was never applied.", Control.remove_faults),
    Route("GET", "/v1/faults/{id}", "A rule with all requests that are remembered.", Control.show_fault),
    Route("DELETE", "/v1/faults/{id}", "Remove a rule, and let go what it holds.", Control.remove_fault),
    Route("POST", "/v1/faults/{id}/release", "Let go what a rule holds; it stays armed.", Control.release_fault, {}),
    Route("GET", "/v1/clock", "The broker's time of day, in ms.", Control.show_clock),
    Route("POST", "/v1/clock/advance", "Move time; what falls due on the way has been done.", Control.advance, {"seconds": 900}),
    Route("GET", "/v1/crash", "The crash points, and those that are armed.", Control.list_crash_points),
    Route("POST", "/v1/crash", "Die the nth time a point is passed.", Control.arm_crash, {"point": "after-prepare", "nth": 1}, CREATED),
    Route("DELETE", "/v1/crash", "Disarm all crash points.", Control.disarm_crashes),
    Route("POST", "/v1/reset", "No topics, groups, transactions, rules are left; the ports stay.", Control.reset, {}),
    Route("GET", "/v1/state", "Topics with offsets and producers, groups, transactional ids.", Control.show_state),
)


def _listed(rule: Rule) -> dict[str, Any]:
    told = rule.as_json()
    told["requests"] = told["requests"][-REQUESTS_LISTED:]
    return told


def _only(body: Mapping[str, Any], *names: str) -> Any:
    """The value of the one name, or those of several; None for what is not there. Raises Refused for another name."""
    for name in body:
        if name not in names:
            raise Refused(BAD_REQUEST, f"there is no {name!r} here; there may be: {', '.join(names)}")
    return body.get(names[0]) if len(names) == 1 else [body.get(name) for name in names]
