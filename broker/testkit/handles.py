"""What a test holds of a broker's rules and of its time, wherever the broker is: behind a `Door`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from oncelog.broker.faults.engine import NeverHit

PATIENCE_SECONDS = 60.0


def as_text(settings: Mapping[str, object] | None) -> dict[str, str]:
    """Settings as `server.properties` has them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (settings or {}).items()}


class Door(Protocol):
    """The way to one broker; RuntimeError while it is down. `hits` and `rules` tell of one that is down what was last known."""

    def add_rule(self, asked: Mapping[str, Any]) -> str:
        """The id. Raises BadRule."""

    def hits(self, id: str) -> int: ...

    def rule(self, id: str) -> dict[str, Any]:
        """As HTTP shows it."""

    def rules(self) -> list[dict[str, Any]]: ...

    def release(self, id: str) -> int: ...

    def remove(self, id: str) -> None:
        """Raises NeverHit."""

    def clear(self) -> list[str]:
        """What is wrong with those that had to hit and did not."""

    def now_ms(self) -> int: ...

    def advance(self, seconds: float) -> int: ...


class Faults:
    """The rules of one broker: what goes wrong, and when."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def add(self, *, action: str | Mapping[str, Any], times: int | None = 1, must_hit: bool = False, **match: Any) -> Rule:
        """Arm a rule: `add(api="EndTxn", action="drop_answer")`; `action` by its type, or as a mapping with more.

        `while_`: the id of a rule, or a rule, that must still be armed. Raises BadRule, which says what to do.
        """
        if "while_" in match:
            other = match.pop("while_")
            match["while"] = other.id if isinstance(other, Rule) else other
        action = {"type": action} if isinstance(action, str) else dict(action)
        return self.add_rule({"match": match, "action": action, "times": times, "must_hit": must_hit})

    def add_rule(self, asked: Mapping[str, Any]) -> Rule:
        """Arm a rule as it goes over HTTP: `{"match": …, "action": …, "times": …, "must_hit": …}`. Raises BadRule."""
        return Rule(self._door, self._door.add_rule(asked))

    def list(self) -> list[dict[str, Any]]:
        """Each rule with what it hit, as HTTP shows it."""
        return self._door.rules()

    def clear(self) -> None:
        """Remove all. Raises NeverHit for those that had to hit and did not."""
        wrong = self._door.clear()
        if wrong:
            raise NeverHit("; ".join(wrong))


class Rule:
    """One armed rule."""

    def __init__(self, door: Door, id: str) -> None:
        self._door = door
        self.id = id

    @property
    def hits(self) -> int:
        """How often it was applied."""
        return self._door.hits(self.id)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """To what."""
        found: list[dict[str, Any]] = self._door.rule(self.id)["requests"]
        return found

    def wait_hit(self, count: int = 1, seconds: float = PATIENCE_SECONDS) -> None:
        """Return when it was applied `count` times. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while (hits := self.hits) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.id} was hit {hits} times in {seconds} s, not {count}: {self._door.rule(self.id)['match']}")
            time.sleep(0.001)

    def release(self) -> int:
        """Let go what it holds; how much that was."""
        return self._door.release(self.id)

    def remove(self) -> None:
        """Disarm it, and let go what it holds. Raises NeverHit where `must_hit` was asked for."""
        self._door.remove(self.id)


class Clock:
    """The time of one broker."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def now_ms(self) -> int:
        return self._door.now_ms()

    def advance(self, seconds: float) -> int:
        """Move time on; what becomes due on the way has been done, in its order, when it returns the time of day, in ms."""
        if seconds < 0:
            raise ValueError("time does not go back")
        return self._door.advance(seconds)
