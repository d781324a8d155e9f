"""Counters of the broker. Plain numbers on the hot path; whoever shows them turns them into a format."""

from __future__ import annotations

from collections import Counter


class Metrics:
    """`requests`: by api key. `connections`: open now."""

    __slots__ = ("bytes_in", "bytes_out", "connections", "requests")

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.connections = 0
        self.bytes_in = 0  # of record batches appended for clients
        self.bytes_out = 0  # of record batches fetched
