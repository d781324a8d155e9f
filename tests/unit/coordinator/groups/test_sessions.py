"""Members that are silent, or give nothing up, are removed when their time is over, and no sooner."""

from __future__ import annotations

from oncelog.coordinator.groups.sessions import REMOVED_A_TURN, RETRY_MS, MemberSessions
from oncelog.coordinator.timers import Timer, Timers
from oncelog.protocol.errors import ErrorCode, KafkaError


class Clock:
    """`refuse`: how often removing fails."""

    def __init__(self) -> None:
        self.now = 0
        self.timers = Timers()
        self.removed: list[tuple[int, str, list[str]]] = []
        self.refuse = 0
        self.sessions = MemberSessions(self, self.remove)

    def now_ms(self) -> int:
        return self.now

    def schedule(self, deadline_ms: float, action: object) -> Timer:
        return self.timers.schedule(deadline_ms, action)  # type: ignore[arg-type]

    def remove(self, group_id: str, members: list[str]) -> None:
        if self.refuse:
            self.refuse -= 1
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        self.removed.append((self.now, group_id, sorted(members)))

    def pass_time(self, ms: int) -> None:
        for _ in range(ms):
            self.now += 1
            self.timers.fire(self.now)


def test_silence_ends_a_session() -> None:
    clock = Clock()
    clock.sessions.heard("g", "a", 10)
    clock.pass_time(5)
    clock.sessions.heard("g", "b", 10)
    clock.sessions.heard("h", "c", 3)
    clock.pass_time(20)
    assert clock.removed == [(8, "h", ["c"]), (10, "g", ["a"]), (15, "g", ["b"])]
    assert len(clock.timers) == 0


def test_a_sign_of_life_begins_it_anew() -> None:
    clock = Clock()
    clock.sessions.heard("g", "a", 10)
    clock.pass_time(9)
    clock.sessions.heard("g", "a", 10)
    clock.pass_time(9)
    assert clock.removed == []
    clock.pass_time(1)
    assert clock.removed == [(19, "g", ["a"])]


def test_what_is_expected_has_its_own_time() -> None:
    """Counted from the first time that it was said; heartbeats do not prolong it."""
    clock = Clock()
    clock.sessions.heard("g", "a", 100)
    clock.sessions.expect("g", "a", 10)
    clock.pass_time(6)
    clock.sessions.heard("g", "a", 100)
    clock.sessions.expect("g", "a", 10)
    clock.pass_time(4)
    assert clock.removed == [(10, "g", ["a"])]


def test_what_was_done_is_expected_no_more() -> None:
    clock = Clock()
    clock.sessions.heard("g", "a", 100)
    clock.sessions.expect("g", "a", 10)
    clock.sessions.expect("g", "a", None)
    clock.pass_time(99)
    assert clock.removed == []


def test_who_left_is_forgotten() -> None:
    clock = Clock()
    for member in "ab":
        clock.sessions.heard("g", member, 10)
    clock.sessions.heard("h", "c", 10)
    clock.sessions.keep("g", ["a"])
    clock.sessions.forget("h")
    clock.pass_time(20)
    assert clock.removed == [(10, "g", ["a"])]
    clock.sessions.heard("g", "a", 10)
    clock.sessions.keep("g", [])
    assert len(clock.timers) == 0


def test_what_could_not_be_written_is_tried_again() -> None:
    clock = Clock()
    clock.sessions.heard("g", "a", 10)
    clock.refuse = 1
    clock.pass_time(10 + RETRY_MS)
    assert clock.removed == [(10 + RETRY_MS, "g", ["a"])]


def test_very_many_go_in_several_turns() -> None:
    clock = Clock()
    many = [f"m{n}" for n in range(REMOVED_A_TURN + 1)]
    for member in many:
        clock.sessions.heard("g", member, 10)
    clock.pass_time(12)
    assert [len(members) for _at, _group, members in clock.removed] == [REMOVED_A_TURN, 1]
