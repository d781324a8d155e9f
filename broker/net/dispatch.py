"""From a frame to an answer: header, registry, version check, body, handler.

A handler is a plain function under `@api(key, min, max)` in `handlers/api_NN_name.py`. The folder is the table of what is supported:
at start only the decorators' lines are read (a module is imported at its first request), because importing all would cost the whole
start-up budget; `tests/unit/broker/net/test_dispatch.py` compares both.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from oncelog.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncelog.broker.context import BrokerContext, ConnectionFacts, RequestContext
    from oncelog.broker.net.answer_stream import Sent
    from oncelog.coordinator.deferred import Deferred
    from oncelog.protocol.messages import MessageBase
    from oncelog.protocol.primitives import Piece

# a message, what is encoded already, or something to wait for; None: nothing is sent
Answer: TypeAlias = "MessageBase | bytearray | Sequence[Piece] | Deferred[Any] | None"
# the request is the message of its key, or the body's bytes: `handlers/` say which
Handler: TypeAlias = "Callable[[Any, RequestContext], Answer]"
# From version, frame, where its body begins, correlation id and connection to the answer; None: nothing was done, the handler is to be
# asked. The way of those requests of an API that are many and alike.
StraightWay: TypeAlias = "Callable[[int, memoryview, int, int, ConnectionFacts], Sent | Deferred[Sent] | None]"
H = TypeVar("H", bound="Callable[[Any, RequestContext], Answer]")
_PACKAGE = "oncelog.broker.handlers"
_HANDLERS = Path(__file__).parents[1] / "handlers"
_FILE = re.compile(r"^(api_(\d+)_\w+)\.py$")
_DECORATOR = re.compile(r"^@api\(\s*ApiKey\.(\w+),\s*(\d+),\s*(\d+)([^)]*)\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Api:
    """One API as its handler declares it.

    `advertised_min`: a lower version that ApiVersions names and no request may use (KAFKA-18659). `unstable_max`: served and
    advertised only with `unstable.api.versions.enable`. `raw`: the handler takes the body's bytes and returns buffers.
    `hidden`: answered, not advertised. `straight`: makes the straight way of a broker, `straight_from`: for requests from that version on
    (None: for the flexible ones).
    """

    key: ApiKey
    min_version: int
    max_version: int
    raw: bool = False
    advertised_min: int | None = None
    unstable_max: int | None = None
    hidden: bool = False
    handle: Handler | None = None
    straight: Callable[[BrokerContext], StraightWay] | None = None
    straight_from: int | None = None


_handlers: dict[ApiKey, Api] = {}


def api(
    key: ApiKey,
    min_version: int,
    max_version: int,
    *,
    raw: bool = False,
    advertised_min: int | None = None,
    unstable_max: int | None = None,
    hidden: bool = False,
    straight: Callable[[BrokerContext], StraightWay] | None = None,
    straight_from: int | None = None,
) -> Callable[[H], H]:
    """Register a handler for requests of `key` in versions `min_version` to `max_version`."""

    def register(handle: H) -> H:
        _handlers[key] = Api(key, min_version, max_version, raw, advertised_min, unstable_max, hidden, handle, straight, straight_from)
        return handle

    return register


class CloseConnection(Exception):
    """The only answer Kafka has to what it cannot read: the connection is closed. The text goes to the log, once per peer."""


class ApiRegistry:
    """What this broker serves, with handlers imported at their first request."""

    def __init__(self, *, unstable: bool = False) -> None:
        self._unstable = unstable
        found = _in_files()
        self._modules: dict[int, str] = {api.key: module for module, api in found}
        self._declared: dict[int, Api] = {api.key: api for _, api in found}
        self._loaded: dict[int, Api] = {}
        self._served: dict[tuple[int, int], Api] = {}  # (key, version) of requests that came

    def max_version(self, declared: Api) -> int:
        """The highest version a request may have."""
        return declared.unstable_max if self._unstable and declared.unstable_max is not None else declared.max_version

    def advertised(self) -> list[tuple[int, int, int]]:
        """(key, min, max) in ascending order of keys, as ApiVersions tells them."""
        return [
            (key, one.advertised_min if one.advertised_min is not None else one.min_version, self.max_version(one))
            for key, one in sorted(self._declared.items())
            if not one.hidden
        ]

    def declared(self) -> list[Api]:
        """Everything that is answered, in ascending order of keys."""
        return [self._declared[key] for key in sorted(self._declared)]

    def version_range(self, key: int) -> tuple[int, int]:
        """(lowest, highest) version that requests with `key` may have. Raises KeyError."""
        declared = self._declared[key]
        return declared.min_version, self.max_version(declared)

    def find(self, key: int, version: int) -> Api:
        """The API that serves (key, version). Raises CloseConnection for what is not served."""
        known = self._served.get((key, version))
        if known is not None:
            return known
        one = self._loaded.get(key) or self._load(key)
        if not one.min_version <= version <= self.max_version(one):
            raise CloseConnection(f"request for {one.key.name} version {version}, served are {one.min_version} to {self.max_version(one)}")
        self._served[key, version] = one
        return one

    def _load(self, key: int) -> Api:
        module = self._modules.get(key)
        if module is None:
            raise CloseConnection(f"request with unknown api key {key}")
        importlib.import_module(f"{_PACKAGE}.{module}")
        return self._loaded.setdefault(key, _handlers[ApiKey(key)])


@cache
def _in_files() -> tuple[tuple[str, Api], ...]:
    """Module and declaration of each handler; read once a process, as a test may start a broker for each of its functions."""
    read = []
    for entry in _HANDLERS.iterdir():
        found = _FILE.match(entry.name)
        declared = _DECORATOR.search(entry.read_text(encoding="utf-8")) if found else None
        if found and declared:
            read.append((found[1], _parse(ApiKey[declared[1]], declared)))
    return tuple(read)


def _parse(key: ApiKey, declared: re.Match[str]) -> Api:
    options = dict(part.strip().split("=", 1) for part in declared[4].split(",") if "=" in part)
    return Api(
        key,
        int(declared[2]),
        int(declared[3]),
        options.get("raw") == "True",
        int(options["advertised_min"]) if "advertised_min" in options else None,
        int(options["unstable_max"]) if "unstable_max" in options else None,
        options.get("hidden") == "True",
    )
