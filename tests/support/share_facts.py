"""What the members of a share group were told, over all lives of a broker, and what must hold of it.

What was told accepted or rejected is never delivered again, and the count of a record never falls behind what was told.
"""

from __future__ import annotations

from collections import Counter

ACCEPT, RELEASE, REJECT, LEAVE = 1, 2, 3, 0
Record = tuple[int, int]  # partition, offset


class Facts:
    """What the members were told, over all lives of the broker."""

    def __init__(self) -> None:
        self.finished: dict[Record, int] = {}  # with which answer
        self.unsure: set[Record] = set()  # asked to be finished, and no answer came
        self.least: Counter[Record] = Counter()  # the count that the next delivery must have at least
        self.deliveries: Counter[Record] = Counter()
        self.holds: dict[Record, int] = {}  # delivered with that count, and not answered for

    def delivered(self, record: Record, count: int) -> None:
        assert record not in self.finished, f"{record} was {self.finished[record]} and comes again"
        assert count >= max(self.least[record], 1), f"{record} comes with count {count}, {self.least[record]} was due"
        assert count <= self.deliveries[record] + 1, f"{record} comes with count {count} at delivery {self.deliveries[record] + 1}"
        self.unsure.discard(record)  # so it was not finished
        self.deliveries[record] += 1
        self.holds[record] = count

    def plan(self, record: Record) -> int:
        """Every fourth is rejected, others are accepted; some only when they come a second time."""
        kind = record[1] % 4
        if self.deliveries[record] > 1 or kind == 0:
            return REJECT if kind == 2 else ACCEPT
        return (RELEASE, REJECT, LEAVE)[kind - 1]

    def asked(self, record: Record, what: int) -> None:
        if what in (ACCEPT, REJECT):
            self.unsure.add(record)

    def told(self, record: Record, what: int) -> None:
        self.unsure.discard(record)
        count = self.holds.pop(record)
        if what in (ACCEPT, REJECT):
            self.finished[record] = what
        else:
            self.least[record] = count + 1
