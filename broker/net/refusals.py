"""Who was turned away, and why: failed logins, failed TLS handshakes, denied requests, connections closed for what they sent.

One warning for each peer and reason, said again after a while with the number of times in between: a client that is turned away comes
back every few milliseconds. A peer with many reasons gets a bounded number of lines, and so do many peers together.
Names that clients give are quoted, with everything escaped that could end the line or pass for another field.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

REPEATED_AFTER_S = 60.0
REASONS_OF_A_PEER = 50
PEERS = 1000
OTHER_PEERS = "others"
LONGEST_TEXT = 200
_PLAIN = re.compile(r"[\w.:@/*-]+", re.ASCII)


class RefusalLog:
    """`write` gets the lines, `now_s` is monotonic."""

    def __init__(self, write: Callable[[str], None], now_s: Callable[[], float]) -> None:
        self._write, self._now_s = write, now_s
        self._peers: dict[str, dict[str, int]] = {}  # reason -> how often since its line was written
        self._window_ends_s = 0.0

    def tell(self, what: str, peer: str, **facts: object) -> None:
        """`what` is ours, `facts` may hold what a client said; a fact that is None is left out."""
        reason = " ".join((what, *(f"{name}={quoted(str(value))}" for name, value in facts.items() if value is not None)))
        now_s = self._now_s()
        if now_s >= self._window_ends_s:
            self._window_ends_s = now_s + REPEATED_AFTER_S
            self._sum_up()
        if peer not in self._peers and len(self._peers) >= PEERS:
            peer = OTHER_PEERS
        told = self._peers.setdefault(peer, {})
        if reason in told:
            told[reason] += 1
        elif len(told) < REASONS_OF_A_PEER:
            told[reason] = 0
            self._write(f"{reason} client={quoted(peer)}")
        else:
            told[""] = told.get("", 0) + 1

    def _sum_up(self) -> None:
        peers, self._peers = self._peers, {}
        for peer, told in peers.items():
            for reason, times in told.items():
                if times:
                    self._write(f"{reason or 'turned away for other reasons'} client={quoted(peer)} again={times}")


def quoted(text: str) -> str:
    """`text` as one field: as it is when it is a plain word, else in quotes with quotes, backslashes and the unprintable escaped."""
    if len(text) <= LONGEST_TEXT and _PLAIN.fullmatch(text):
        return text
    escaped = "".join(c if c.isprintable() and c not in '"\\' else c.encode("unicode_escape").decode() for c in text[:LONGEST_TEXT])
    return '"' + escaped.replace('"', '\\"') + ('"' if len(text) <= LONGEST_TEXT else '…"')


_refusals = RefusalLog(_log.warning, time.monotonic)
tell = _refusals.tell
