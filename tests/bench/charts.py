"""A chart of ratios, as SVG: a row of the table is a row of the chart, a rival a colour, further right is better for oncelog."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tests.bench.results import RowResult, middle

COLOURS = ("#4269d0", "#efb118", "#3ca951", "#ff725c")
WIDTH, LABELS, RIGHT, ROW, TOP = 960, 430, 40, 34, 56
_MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Bar:
    """How many times as good as the rival: the median of the rounds, the lowest and the highest."""

    rival: str
    middle: float
    least: float
    most: float


def advantage(row: RowResult, rival: str) -> list[float]:
    """Ratios turned so that more is better: of a row where less is better, the rival's value over ours."""
    ratios = row.ratios(rival)
    return ratios if row.better == "more" else [1 / ratio for ratio in ratios if ratio]


def bars(row: RowResult, rivals: Sequence[str]) -> list[Bar]:
    found = []
    for rival in rivals:
        ratios = advantage(row, rival)
        centre = middle(ratios)
        if centre is not None:
            found.append(Bar(rival, centre, min(ratios), max(ratios)))
    return found


def chart(title: str, rows: Sequence[RowResult], rivals: Sequence[str]) -> str | None:
    """The SVG; None where no row has a ratio."""
    shown = [(row, bars(row, rivals)) for row in rows]
    shown = [(row, found) for row, found in shown if found]
    if not shown:
        return None
    low = min([0.5, *(bar.least for _, found in shown for bar in found)])
    high = max([2.0, *(bar.most for _, found in shown for bar in found)])
    scale = _Scale(low, high)
    height = TOP + ROW * len(shown) + 34
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">'
    parts = [head, f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    parts.append(f'<text x="12" y="22" font-size="16" font-weight="bold">{escape(title)}</text>')
    parts += _legend(rivals)
    parts += scale.lines(TOP, height - 30)
    for at, (row, found) in enumerate(shown):
        parts += _row(row, found, rivals, TOP + ROW * at, scale)
    return "\n".join([*parts, "</svg>", ""])


class _Scale:
    """Logarithmic: twice as good and half as good are equally far from 1."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = math.log(low) - 0.1, math.log(high) + 0.1

    def x(self, ratio: float) -> float:
        share = (math.log(ratio) - self._low) / (self._high - self._low)
        return round(LABELS + share * (WIDTH - LABELS - RIGHT), 1)

    def lines(self, top: int, bottom: int) -> Iterator[str]:
        wide = self._high - self._low > math.log(200)  # then every mark would stand in the next one's way
        for mark in _MARKS:
            if wide and not math.log10(mark).is_integer():
                continue
            if self._low <= math.log(mark) <= self._high:
                x, colour = self.x(mark), "#333" if mark == 1 else "#ddd"
                yield f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="{colour}"/>'
                yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" fill="#555">{mark:g}×</text>'


def _legend(rivals: Sequence[str]) -> Iterator[str]:
    for at, rival in enumerate(rivals):
        x = LABELS + 150 * at
        yield f'<rect x="{x}" y="32" width="12" height="12" fill="{COLOURS[at % len(COLOURS)]}"/>'
        yield f'<text x="{x + 18}" y="43">beside {escape(rival)}</text>'


def _row(row: RowResult, found: Sequence[Bar], rivals: Sequence[str], top: int, scale: _Scale) -> Iterator[str]:
    yield f'<text x="{LABELS - 10}" y="{top + ROW / 2 + 4}" text-anchor="end">{escape(row.title)}</text>'
    thick = (ROW - 10) / len(rivals)
    for bar in found:
        at = list(rivals).index(bar.rival)
        y = round(top + 5 + at * thick, 1)
        left, right = sorted((scale.x(1), scale.x(bar.middle)))
        yield (
            f'<rect x="{left}" y="{y}" width="{round(max(right - left, 1), 1)}" height="{round(thick - 2, 1)}" '
            f'fill="{COLOURS[at % len(COLOURS)]}"><title>{escape(bar.rival)}: {bar.middle:.3g}×</title></rect>'
        )
        middle_y = round(y + (thick - 2) / 2, 1)
        ends = f'x1="{scale.x(bar.least)}" y1="{middle_y}" x2="{scale.x(bar.most)}" y2="{middle_y}"'
        yield f'<line {ends} stroke="#000" stroke-opacity="0.6"/>'
