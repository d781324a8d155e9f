"""Producer ids: never the same one twice, whatever happens to the machine (Kafka's ProducerIdManager).

Ids come in blocks. Where the next block starts is made durable before the first id of a block is handed out; what is left of a
block is lost at a restart. The first block starts at 2^40, so that a directory moved into an Apache Kafka cluster, which counts
from 0, never meets an id of ours again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

FIRST_PRODUCER_ID = 1 << 40
BLOCK_SIZE = 1000
_MAX_PRODUCER_ID = 2**63 - 1
_SECTION, _KEY = "producer_ids", "next_block_start"


class ProducerIds:
    """`persist(next_block_start)` must return only once the number is on disk, and raise otherwise."""

    def __init__(self, next_block_start: int | None, persist: Callable[[int], None]) -> None:
        """`next_block_start`: what was persisted last; None on a new data directory."""
        self.is_new = next_block_start is None
        self._next = self._block_end = max(next_block_start or 0, FIRST_PRODUCER_ID)
        self._persist = persist

    def keep_clear_of(self, seen: Iterable[int]) -> None:
        """Start above every id found in the logs: the persisted number may be older than they are, after a restore for instance."""
        above = max(seen, default=-1) + 1
        if above > self._block_end:
            self._next = self._block_end = above

    def next_id(self) -> int:
        """A producer id nobody had. Raises what `persist` raises, and then gives none away."""
        if self._next == self._block_end:
            block_end = min(self._block_end + BLOCK_SIZE, _MAX_PRODUCER_ID)
            if block_end == self._block_end:
                raise OverflowError("out of producer ids")
            self._persist(block_end)
            self._block_end = block_end
        producer_id = self._next
        self._next += 1
        return producer_id


class Store(Protocol):
    """A durable map of maps; `put` returns once it is on disk (`MetadataStore`)."""

    def section(self, name: str) -> dict[str, Any]: ...

    def put(self, section: str, key: str, value: Any) -> None: ...


def kept_in(store: Store) -> ProducerIds:
    """Producer ids whose next block start is kept in `store`."""
    return ProducerIds(store.section(_SECTION).get(_KEY), lambda value: store.put(_SECTION, _KEY, value))
