"""The rules that are armed, and what stands between the sockets and the handlers to carry them out.

While nothing is armed a request costs one look at a list. An answer that must not go out on its own (trickled, cut) is written by hand when
its turn in the connection's line has come; what is behind it waits.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oncelog.broker.answers import holding_back
from oncelog.broker.faults.rule import ON_DISK, BadRule, Hit, Rule, parse_rule
from oncelog.broker.faults.subject import Subject
from oncelog.broker.net.answer_stream import Sent, whole
from oncelog.broker.net.error_answers import can_be_refused, error_answer
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol import messages
from oncelog.protocol.header import parse_request_header, response_header
from oncelog.protocol.primitives import MalformedRequest
from oncelog.storage.env import Clock

if TYPE_CHECKING:
    from oncelog.broker.net.connection import Connection, Handles

TRICKLE_SECONDS = 0.02
REORDER_SECONDS = 0.01  # the later answer's head start
_AT_ONCE_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, no time
_NOTHING: Sent = ()


class NeverHit(AssertionError):
    """A rule that had to hit something did not."""


class Faults:
    """The rules of one broker. Used on its loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self.rules: dict[str, Rule] = {}
        self.on_change: Callable[[], None] = lambda: None  # told when a rule has come or gone
        self._clock = clock
        self._last_id = 0
        self._held: dict[str, list[Callable[[], None]]] = {}  # what a rule holds
        self._first: dict[str, tuple[Connection, Deferred[Sent], Sent]] = {}  # of two answers to change places

    def add(self, asked: Mapping[str, Any]) -> Rule:
        """Arm a rule. Raises BadRule."""
        self._last_id += 1
        rule = parse_rule(f"rule-{self._last_id}", asked)
        key = rule.match.api
        if rule.action.type == "error" and key is not None and not can_be_refused(key):
            raise BadRule(f"an answer to {key.schema_name} cannot carry an error for the whole of it")
        if rule.action.type == "error" and key is None:
            raise BadRule("the action error needs an api in the match: answers differ")
        if rule.match.while_rule is not None and rule.match.while_rule not in self.rules:
            raise BadRule(f"while: there is no rule {rule.match.while_rule}; there are: {', '.join(self.rules) or 'none'}")
        self.rules[rule.id] = rule
        self.on_change()
        return rule

    def release(self, id: str) -> int:
        """Let go what the rule holds; how much that was. Raises KeyError."""
        self._rule(id)
        held = self._held.pop(id, [])
        for go_on in held:
            go_on()
        return len(held)

    def remove(self, id: str) -> Rule:
        """Disarm, and let go what it holds. Raises KeyError; NeverHit after it is removed."""
        rule = self._rule(id)
        self.release(id)
        self._let_first_go(id)
        del self.rules[id]
        self.on_change()
        if rule.must_hit and rule.hits == 0:
            raise NeverHit(_never_hit(rule))
        return rule

    def clear(self) -> list[str]:
        """Remove all; what is wrong with those that had to hit and did not."""
        wrong = []
        for id in list(self.rules):
            try:
                self.remove(id)
            except NeverHit as error:
                wrong.append(str(error))
        return wrong

    def _rule(self, id: str) -> Rule:
        if id not in self.rules:
            raise KeyError(f"no rule {id}; there are: {', '.join(self.rules) or 'none'}")
        return self.rules[id]

    # -- requests

    def rule_for(self, subject: Subject, client: str) -> Rule | None:
        """The first rule that agrees; it counts as hit."""
        for rule in self.rules.values():
            if rule.action.type not in ON_DISK and self._agrees(rule, subject) and rule.takes_turn():
                rule.hit(Hit(self._clock.time_ms(), subject.key.schema_name, subject.header.client_id, client))
                return rule
        return None

    def _agrees(self, rule: Rule, subject: Subject) -> bool:
        match, header = rule.match, subject.header
        return (
            rule.armed
            and (match.api is None or match.api == header.api_key)
            and (match.min_version is None or header.api_version >= match.min_version)
            and (match.max_version is None or header.api_version <= match.max_version)
            and (match.client_id is None or match.client_id == header.client_id)
            and (match.principal is None or match.principal == subject.principal)
            and (match.while_rule is None or (match.while_rule in self.rules and self.rules[match.while_rule].armed))
            and (not match.looks_inside or _names(match, subject))
        )

    def held(self, rule: Rule, go_on: Callable[[], None]) -> None:
        self._held.setdefault(rule.id, []).append(go_on)

    # -- two answers that change places

    def take_first(self, rule: Rule, connection: Connection, answer: Deferred[Sent], value: Sent) -> bool:
        """Keep this answer until another connection's has gone; False: one is kept already, and this is to go."""
        if rule.id in self._first and self._first[rule.id][0] is not connection:
            asyncio.get_running_loop().call_later(REORDER_SECONDS, self._let_first_go, rule.id)
            return False
        self._first[rule.id] = (connection, answer, value)
        return True

    def _let_first_go(self, id: str) -> None:
        kept = self._first.pop(id, None)
        if kept is not None:
            kept[1].resolve(kept[2])

    # -- the disk, on whatever thread writes to it

    @property
    def about_disk(self) -> bool:
        """Is there a rule about it?"""
        return any(rule.action.type in ON_DISK for rule in list(self.rules.values()))

    def disk_rule_for(self, kind: str, topic: str, partition: int) -> Rule | None:
        """The first rule about writes (`disk_full`) or syncs (`sync_fails`) of this log; it counts as hit."""
        for rule in list(self.rules.values()):
            match = rule.match
            meant = match.topic in (None, topic) and match.partition in (None, partition)
            if rule.action.type == kind and rule.armed and meant and rule.takes_turn():
                rule.hit(Hit(self._clock.time_ms(), f"{topic}-{partition}"))
                return rule
        return None


class FaultyHandler:
    """Answers frames as `handler` does, but for those that a rule is about."""

    def __init__(self, handler: Handles, faults: Faults, topic_name: Callable[[Any], str | None]) -> None:
        self.clock = handler.clock
        self._handler = handler
        self._faults = faults
        self._topic_name = topic_name

    def log_failure(self, connection: Connection, error: BaseException) -> None:
        self._handler.log_failure(connection, error)

    def handle(self, frame: memoryview, connection: Connection) -> Reply[Sent]:
        if not self._faults.rules or (connection.sasl is not None and connection.sasl.takes_tokens):
            return self._handler.handle(frame, connection)
        try:
            header = parse_request_header(frame)
            subject = Subject(header, frame, connection.principal, self._topic_name)
        except (MalformedRequest, ValueError):
            return self._handler.handle(frame, connection)  # which tells the client
        rule = self._faults.rule_for(subject, connection.client_name)
        if rule is None:
            return self._handler.handle(frame, connection)
        return _Case(self._faults, rule, self._handler, subject, frame, connection).carry_out()


class _Gate:
    """Open for ever from `open` on; what waits, one at most, goes on then."""

    def __init__(self) -> None:
        self._is_open = False
        self._go_on: Callable[[], None] | None = None

    def open(self) -> None:
        self._is_open = True
        if self._go_on is not None:
            self._go_on()

    def wait(self, go_on: Callable[[], None]) -> None:
        if self._is_open:
            go_on()
        else:
            self._go_on = go_on


class _Case:
    """One request that one rule is about."""

    def __init__(self, faults: Faults, rule: Rule, handler: Handles, subject: Subject, frame: memoryview, connection: Connection) -> None:
        self._faults, self._rule, self._action = faults, rule, rule.action
        self._handler, self._subject, self._connection = handler, subject, connection
        self._frame = frame

    def carry_out(self) -> Reply[Sent]:
        carry_out: Callable[[], Reply[Sent]] = getattr(self, f"_{self._action.type}")
        return carry_out()

    # -- before it is carried out, or instead

    def _error(self) -> Reply[Sent]:
        key, header = self._subject.key, self._subject.header
        assert self._action.code is not None
        if self._subject.body is None:
            return self._handler.handle(self._frame, self._connection)  # it cannot be read, and is told so
        answer = error_answer(key, header.api_version, self._subject.body, self._action.code)
        if answer is None:
            return _NOTHING  # acks=0
        head = response_header(key, header.api_version, header.correlation_id)
        return [head, messages.encode_response(key, header.api_version, answer)]

    def _drop_request(self) -> Reply[Sent]:
        return holding_back(Deferred[Sent]()) if self._action.keep_open else self._close()

    def _close(self) -> Sent:
        self._connection.close_after_response()
        return _NOTHING

    def _reset(self) -> Reply[Sent]:
        raw = self._connection.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE_RESET)
        self._connection.abort()
        return _NOTHING

    def _delay(self) -> Reply[Sent]:
        loop, seconds = asyncio.get_running_loop(), self._action.ms / 1000
        return self._in_a_while(lambda go_on: loop.call_later(seconds, go_on))

    def _hold(self) -> Reply[Sent]:
        gate = _Gate()
        self._faults.held(self._rule, gate.open)  # from now on: who sees the hit may release it before there is an answer to hold
        return self._in_a_while(gate.wait)

    def _in_a_while(self, wait: Callable[[Callable[[], None]], object]) -> Reply[Sent]:
        if self._action.when == "after":
            return self._with_answer(lambda answer, value: wait(lambda: answer.resolve(value)))
        answer: Deferred[Sent] = Deferred()
        frame, handler, connection = memoryview(bytearray(self._frame)), self._handler, self._connection
        wait(lambda: answer.become(lambda: handler.handle(frame, connection)))
        return holding_back(answer)

    # -- after it was carried out

    def _drop_answer(self) -> Reply[Sent]:
        if self._action.keep_open:
            return self._with_answer(lambda _answer, _value: None)
        return self._with_answer(lambda answer, _value: answer.resolve(self._close()))

    def _reorder(self) -> Reply[Sent]:
        def either(answer: Deferred[Sent], value: Sent) -> None:
            if not self._faults.take_first(self._rule, self._connection, answer, value):
                answer.resolve(value)

        return self._with_answer(either)

    def _short_write(self) -> Reply[Sent]:
        def cut(answer: Deferred[Sent], value: Sent) -> None:
            data = whole(value)
            size = len(data) // 2 if self._action.bytes is None else self._action.bytes

            def write() -> None:
                self._connection.transport.write(data[:size])
                answer.resolve(self._close())

            self._in_turn(answer, write)

        return self._with_answer(cut)

    def _throttle(self) -> Reply[Sent]:
        def trickle(answer: Deferred[Sent], value: Sent) -> None:
            data = whole(value)
            loop = asyncio.get_running_loop()
            begin, sent = 0.0, 0

            def write() -> None:
                nonlocal begin, sent
                begin = begin or loop.time()
                due = min(len(data), max(1, int((loop.time() - begin) * self._action.bytes_per_second)))
                self._connection.transport.write(data[sent:due])
                sent = due
                if sent == len(data):
                    answer.resolve(_NOTHING)
                else:
                    loop.call_later(TRICKLE_SECONDS, self._in_turn, answer, write)

            self._in_turn(answer, write)

        return self._with_answer(trickle)

    def _with_answer(self, go_on: Callable[[Deferred[Sent], Sent], object]) -> Reply[Sent]:
        """Have it carried out; `go_on` gets the answer to give, what is behind it waits. What fails does so as ever."""
        answer: Deferred[Sent] = Deferred()
        reply = self._handler.handle(self._frame, self._connection)

        def done(done: Deferred[Sent]) -> None:
            if done.error is not None:
                answer.fail(done.error)
            else:
                go_on(answer, done.result())

        if isinstance(reply, Deferred):
            reply.when_done(done)
        else:
            go_on(answer, reply)
        return holding_back(answer)

    def _in_turn(self, answer: Deferred[Sent], write: Callable[[], None]) -> None:
        """`write` once everything that is owed before `answer` has gone; never, when the client has."""
        is_next = self._connection.is_next(answer)
        if is_next:
            write()
        elif is_next is not None:
            asyncio.get_running_loop().call_later(TRICKLE_SECONDS, self._in_turn, answer, write)


def _names(match: Any, subject: Subject) -> bool:
    return all(
        wanted is None or subject.names(name, wanted)
        for name, wanted in (
            ("transactional_id", match.transactional_id),
            ("group", match.group),
            ("topic", match.topic),
            ("partition", match.partition),
        )
    )


def _never_hit(rule: Rule) -> str:
    told = rule.as_json()
    seen = f"{rule.seen} agreed to the rest of its match" if rule.seen else "nothing that came agreed to its match"
    hint = "check the spelling of ids, and that the client got that far"
    return f"{rule.id} had to hit and did not: {seen}. Its match is {told['match']}; {hint}"
