"""What happened when: kept while the demo runs, drawn at its end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any


class Timeline:
    """Rows safe over time, per stage, and the kills in between."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.rows: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.kills: list[tuple[float, str]] = []

    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun

    def reached(self, stage: str, rows: int) -> None:
        self.rows[stage].append((self.now(), rows))

    def killed(self, what: str) -> None:
        self.kills.append((self.now(), what))

    def kill_counts(self) -> Counter[str]:
        return Counter(what for _, what in self.kills)


def departures_per_week(cells: Mapping[str, tuple[int, ...]]) -> dict[str, list[tuple[datetime, int]]]:
    """Airport → (first hour of each whole week, departures), from cells named `"EWR 2013-01-01T10:00:00Z"`."""
    weeks: dict[str, dict[tuple[int, int], tuple[datetime, int]]] = defaultdict(dict)
    for name in sorted(cells):
        airport, hour = name.split(" ")
        at = datetime.fromisoformat(hour)
        key = at.isocalendar()[:2]
        first, count = weeks[airport].get(key, (at, 0))
        weeks[airport][key] = (first, count + cells[name][0])
    return {airport: list(counts.values())[1:-1] for airport, counts in weeks.items()}


def draw(timeline: Timeline, cells: Mapping[str, tuple[int, ...]], file: Path) -> Path:
    """A PNG: the departures that were counted, and below it how the counting went."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(11, 8), layout="constrained")
    for airport, weeks in sorted(departures_per_week(cells).items()):
        above.plot([at for at, _ in weeks], [count for _, count in weeks], label=airport)
    above.set(title="Scheduled departures per week, 2013", ylabel="departures", ylim=(0, None))
    above.legend()
    for stage, points in timeline.rows.items():
        below.step([at for at, _ in points], [rows for _, rows in points], where="post", label=stage)
    for at, what in timeline.kills:
        below.axvline(at, color="crimson", linestyle="--", linewidth=1)
        below.annotate(
            f"kill -9 {what}", (at, 1), xycoords=("data", "axes fraction"), rotation=90, va="top", ha="right", color="crimson", fontsize=8
        )
    below.set(title="Rows safe at the broker while things were killed", xlabel="seconds", ylabel="rows", ylim=(0, None))
    below.legend(loc="lower right")
    _finish(figure, pyplot, file)
    return file


def _finish(figure: Any, pyplot: Any, file: Path) -> None:
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
