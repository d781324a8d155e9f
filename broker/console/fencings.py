"""The fencing journal: what was refused, fenced, aborted or rebalanced, and why, the newest of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oncelog.broker.console.life import event

if TYPE_CHECKING:
    from oncelog.broker.net.told_causes import Cause

KEPT = 10_000
AGAIN_MS = 10_000  # the same within so long is one row, counted
_LATEST = 200  # rows among which the same is looked for
_REBALANCES_TOLD = 100
LONGEST_TEXT = 1000  # of what clients name


class FencingJournal:
    """Rows of API.md, with `count` and `last_ms` where the same came again. What it holds is bounded, whatever clients send."""

    def __init__(self) -> None:
        self._rows: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._number = 0

    def add(self, cause: Cause, time_ms: int) -> None:
        """It has just happened."""
        row = {
            "number": self._number + 1,
            "time_ms": time_ms,
            "last_ms": time_ms,
            "count": 1,
            "kind": cause.kind,
            "error": None if cause.error is None else cause.error.name,
            "api": cause.api,
            "transactional_id": _cut(cause.transactional_id),
            "group_id": _cut(cause.group_id),
            "topic": None if cause.place is None else cause.place.topic,
            "partition": None if cause.place is None else cause.place.partition,
            "producer_id": cause.producer_id,
            "epoch_before": cause.epoch_before,
            "epoch_after": cause.epoch_after,
            "member_id": _cut(cause.member_id),
            "client_id": _cut(cause.client_id),
            "client_host": cause.client_host,
            "by_client_id": _cut(cause.by_client_id),
            "by_client_host": cause.by_client_host,
            "cause": _cut(cause.sentence),
        }
        same = self._same(row) if cause.error is not None else None
        if same is not None:
            same["count"] += 1
            same["last_ms"] = time_ms
            return
        self._number += 1
        self._rows.append(row)

    def _same(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        for at in range(1, min(_LATEST, len(self._rows)) + 1):
            before = self._rows[-at]
            if row["time_ms"] - before["time_ms"] > AGAIN_MS:
                return None
            if all(before[name] == row[name] for name in ("cause", "error", "api", "client_id", "client_host", "topic", "partition")):
                return before
        return None

    def rows(self) -> list[dict[str, Any]]:
        """The newest first."""
        return list(reversed(self._rows))

    def rebalances_of(self, group_id: str) -> list[dict[str, Any]]:
        """As a group's `rebalances`, the newest first."""
        found = [row for row in self._rows if row["group_id"] == group_id and row["kind"] == "rebalance"]
        return [
            {
                "time_ms": row["time_ms"],
                "epoch": row["epoch_after"],
                "member_id": row["member_id"],
                "client_id": row["client_id"],
                "client_host": row["client_host"],
                "sentence": row["cause"],
            }
            for row in reversed(found[-_REBALANCES_TOLD:])
        ]

    def events_of(self, transactional_id: str) -> list[dict[str, Any]]:
        """What its coordinator did to the id; refused requests are told as such."""
        return [
            event(
                row["time_ms"],
                "fenced",
                "journal",
                row["cause"],
                producer_id=row["producer_id"],
                producer_epoch=row["epoch_before"],
                by={
                    "client_id": row["by_client_id"],
                    "client_host": row["by_client_host"],
                    "epoch_before": row["epoch_before"],
                    "epoch_after": row["epoch_after"],
                },
            )
            for row in self._rows
            if row["transactional_id"] == transactional_id and row["error"] is None
        ]


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT]
