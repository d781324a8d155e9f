"""Words that several sentences share."""

from __future__ import annotations

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def duration(milliseconds: int) -> str:
    """As people say it: `950 ms`, `12 s`, `3 min 20 s`, `2 h`."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    for at, (size, name) in enumerate(_UNITS):
        count, rest = divmod(milliseconds, size)
        if count:
            smaller = _UNITS[at + 1 : at + 2]
            tail = f" {rest // smaller[0][0]} {smaller[0][1]}" if smaller and count < 10 and rest >= smaller[0][0] else ""
            return f"{count} {name}{tail}"
    raise AssertionError(milliseconds)


def who(client_id: str | None, client_host: str | None) -> str:
    """` (checkout at 127.0.0.1)`; nothing when neither is known."""
    if client_id is None and client_host is None:
        return ""
    return f" ({named(client_id, client_host)})"


def named(client_id: str | None, client_host: str | None) -> str:
    """`checkout at 127.0.0.1`."""
    name = client_id or "a client without a name"
    return f"{name} at {client_host}" if client_host else name
