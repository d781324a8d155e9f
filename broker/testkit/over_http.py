"""The door to a broker in another process: its control port."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.faults.rule import BadRule

SECONDS = 60.0
_REFUSED, _CONFLICT, _DOWN = 400, 409, 503


class Refusal(Exception):
    """The control port refused; the text is its own."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class OverHttp:
    """`url()`: where the control port is; it raises RuntimeError while there is none."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url
        self._known: dict[str, dict[str, Any]] = {}  # rules as they were last seen

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Raises Refusal, and RuntimeError when nobody answers."""
        where = urlsplit(self._url())
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode())
            answer = connection.getresponse()
            told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise RuntimeError(f"the broker went down meanwhile, restart() it: {problem or type(problem).__name__}") from None
        finally:
            connection.close()
        if answer.status == _DOWN:
            raise RuntimeError(told["error"])
        if answer.status >= _REFUSED:
            raise Refusal(answer.status, told["error"])
        return told

    def forget(self) -> None:
        """Rules do not outlast the process."""
        self._known.clear()

    # -- Door

    def add_rule(self, asked: Mapping[str, Any]) -> str:
        try:
            return self._seen(self.ask("POST", "/v1/faults", asked))
        except Refusal as refused:
            raise BadRule(str(refused)) from None

    def hits(self, id: str) -> int:
        hits: int = self.rule(id)["hits"]
        return hits

    def rule(self, id: str) -> dict[str, Any]:
        try:
            self._seen(self.ask("GET", f"/v1/faults/{id}"))
        except (RuntimeError, Refusal):
            if id not in self._known:
                raise
        return self._known[id]

    def rules(self) -> list[dict[str, Any]]:
        try:
            rules: list[dict[str, Any]] = self.ask("GET", "/v1/faults")["faults"]
        except RuntimeError:
            return list(self._known.values())
        for rule in rules:
            self._seen(rule)
        return rules

    def release(self, id: str) -> int:
        released: int = self.ask("POST", f"/v1/faults/{id}/release", {})["released"]
        return released

    def remove(self, id: str) -> None:
        try:
            hits = self.ask("DELETE", f"/v1/faults/{id}")["hits"]
        except Refusal as refused:
            raise (NeverHit(str(refused)) if refused.status == _CONFLICT else KeyError(str(refused))) from None
        if id in self._known:
            self._known[id]["hits"] = hits

    def clear(self) -> list[str]:
        try:
            self.ask("DELETE", "/v1/faults")
        except RuntimeError:
            return []  # they went with the process
        except Refusal as refused:
            return [str(refused)]
        return []

    def now_ms(self) -> int:
        now: int = self.ask("GET", "/v1/clock")["now_ms"]
        return now

    def advance(self, seconds: float) -> int:
        try:
            now: int = self.ask("POST", "/v1/clock/advance", {"seconds": seconds})["now_ms"]
        except Refusal as refused:
            raise ValueError(str(refused)) from None
        return now

    # -- more of the control port

    def crash_at(self, point: str, nth: int) -> None:
        """Raises ValueError."""
        try:
            self.ask("POST", "/v1/crash", {"point": point, "nth": nth})
        except Refusal as refused:
            raise ValueError(str(refused)) from None

    def armed(self) -> list[dict[str, Any]]:
        """The crash points that wait, with how often each is to be passed."""
        armed: list[dict[str, Any]] = self.ask("GET", "/v1/crash")["armed"]
        return armed

    def reset(self) -> None:
        """Raises PermissionError."""
        try:
            self.ask("POST", "/v1/reset", {})
        except Refusal as refused:
            if refused.status == _CONFLICT:
                raise PermissionError(str(refused)) from None
            raise RuntimeError(str(refused)) from None

    def _seen(self, rule: dict[str, Any]) -> str:
        id: str = rule["id"]
        self._known[id] = rule
        return id
