"""Where a broker's control port is, and asking it."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from cyclopts import Group, Parameter
from oncelog.broker.commands.client.numbers import Seconds
from oncelog.broker.commands.client.output import REFUSED, UNREACHABLE, USAGE, Format, fail

_GROUP = Group("Control port", sort_key=100)
_DEFAULT = "http://127.0.0.1:9644"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ControlPort:
    """The options of every command that asks a control port."""

    control: Annotated[str, Parameter(group=_GROUP, env_var="ONCELOG_CONTROL", help="Where it is: http://HOST:PORT.")] = _DEFAULT
    token: Annotated[
        str | None,
        Parameter(
            group=_GROUP,
            env_var="ONCELOG_CONTROL_TOKEN",
            help="control.token of the broker; better given in the environment, where others cannot read it.",
        ),
    ] = None
    format: Annotated[Format, Parameter(group=_GROUP, help="What to print on standard output.")] = Format.TABLE
    timeout_s: Annotated[Seconds, Parameter(name="--timeout", group=_GROUP, help="Seconds to wait for an answer.")] = 10.0

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What is answered; a refusal, or nobody there, ends the command."""
        host, port = self._address()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        connection = http.client.HTTPConnection(host, port, timeout=self.timeout_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as problem:
            how = "start the broker with `oncelog serve --control 9644`, or say where it is with --control URL"
            fail(f"no control port answers at {self.control} ({_why(problem)}); {how}", UNREACHABLE)
        finally:
            connection.close()
        if answer.status >= 400:
            fail(str(told.get("error", told)) if isinstance(told, dict) else str(told), REFUSED)
        return told

    def _address(self) -> tuple[str, int]:
        host = port = None
        with contextlib.suppress(ValueError):
            url = urlsplit(self.control)
            host, port = (url.hostname, url.port) if url.scheme == "http" else (None, None)
        if host is None or port is None:
            fail(f"--control {self.control} is not http://HOST:PORT", USAGE)
        return host, port


DEFAULT = ControlPort()


def _why(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or " ".join(str(problem).split()) or type(problem).__name__
