"""What is seen of a Kafka, whatever it is seen by: plain values, None where it cannot be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from oncelog.protocol.names import TopicPartition

HANGING = "Hanging"  # a transaction that no coordinator knows: ours, no state of Kafka's
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Unreachable(Exception):
    """What is looked at does not answer; the text says why."""


class Refused(Exception):
    """What was asked for is not done. `status`: of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Facts(NamedTuple):
    """Of the whole. `can`: as API.md's overview lists it."""

    name: str
    cluster_id: str | None
    version: str | None
    can: Mapping[str, bool]
    topics: int
    partitions: int
    problem: str | None = None


class Partition(NamedTuple):
    """How far a partition is. `since_ms`: since when its last stable offset has been behind, as far as that was seen."""

    place: TopicPartition
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    log_end_offset: int | None = None
    open_transactions: int | None = None
    producers: int | None = None
    bytes: int | None = None
    since_ms: int | None = None

    @property
    def behind(self) -> int:
        return max(self.high_watermark - self.last_stable_offset, 0)


class OpenTransaction(NamedTuple):
    """Of one producer on one partition."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_ms: int | None = None
    coordinator_epoch: int = -1


class Owner(NamedTuple):
    """Who asked for a transactional id last."""

    client_id: str | None
    client_host: str | None


NOBODY = Owner(None, None)


class Transaction(NamedTuple):
    """One transactional id. `producer_ids`: those it goes by, the one before or after an exhausted epoch too."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    last_update_ms: int | None
    aborts_at_ms: int | None
    transaction_version: int | None
    partitions: frozenset[TopicPartition]
    producer_ids: tuple[int, ...]
    owner: Owner = NOBODY

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


class SeenBatch(NamedTuple):
    """One of the last batches of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    time_ms: int


class Producer(NamedTuple):
    """What a partition knows of a producer. `batches`: the last five, oldest first."""

    producer_id: int
    producer_epoch: int
    next_sequence: int | None
    last_ms: int | None
    coordinator_epoch: int | None
    first_offset: int | None
    batches: tuple[SeenBatch, ...] | None


class SegmentAt(NamedTuple):
    base_offset: int
    bytes: int
    active: bool


class Pieces(NamedTuple):
    """What a partition is made of on disk."""

    segments: tuple[SegmentAt, ...]
    snapshots: tuple[int, ...]


class Member(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    partitions: tuple[TopicPartition, ...]


class Committed(NamedTuple):
    offset: int
    commit_ms: int | None


class PendingOffset(NamedTuple):
    """An offset of a transaction that is still open."""

    producer_id: int
    producer_epoch: int | None
    offset: int
    since_ms: int | None


@dataclass(slots=True)
class Group:
    """`pending` and `rebalances` None: not told."""

    group_id: str
    kind: str
    state: str
    protocol_type: str | None = None
    assignor: str | None = None
    epoch: int | None = None
    members: Sequence[Member] = ()
    committed: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    pending: Mapping[TopicPartition, Sequence[PendingOffset]] | None = None
    rebalances: Sequence[Mapping[str, Any]] | None = None


class Source(Protocol):
    """What the inspector looks at. Everything may raise Unreachable; nothing changes anything but `abort`."""

    @property
    def kind(self) -> str:
        """As API.md's overview names it."""

    @property
    def bootstrap(self) -> str:
        """What its clients connect to, for lines that a user may paste."""

    def now_ms(self) -> int: ...

    async def facts(self) -> Facts: ...

    async def transactions(self, *, only_open: bool = False) -> Sequence[Transaction]: ...

    async def behind(self) -> Sequence[tuple[Partition, Sequence[OpenTransaction]]]:
        """Partitions whose last stable offset is below the high watermark, and what is open there, by first offset."""

    async def partitions(self) -> Sequence[Partition]: ...

    async def edges(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, Partition]:
        """Of those that are there."""

    async def open_on(self, place: TopicPartition) -> Sequence[OpenTransaction]: ...

    async def producers(self, place: TopicPartition) -> Sequence[Producer]: ...

    async def pieces(self, place: TopicPartition) -> Pieces | None: ...

    async def read(self, place: TopicPartition, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one where there is one; nothing at the end."""

    async def offset_at(self, place: TopicPartition, time_ms: int) -> int | None:
        """The first offset with a timestamp from `time_ms` on; None for none."""

    async def transaction_log(self, transactional_id: str) -> TopicPartition | None:
        """The partition of `__transaction_state` that has the id's records; None for none."""

    async def groups(self) -> Sequence[Group]: ...

    async def requests_of(self, transactional_id: str) -> Sequence[Mapping[str, Any]]:
        """Events as `life` has them, of requests."""

    async def fencings(self) -> Sequence[Mapping[str, Any]]:
        """Rows as API.md has them, newest first."""

    async def lint(self) -> Sequence[Mapping[str, Any]]:
        """Rows as API.md has them, newest first."""

    async def abort(self, transaction: Transaction) -> str:
        """Abort what is open; by what: `coordinator` or `InitProducerId`. Raises Refused."""

    async def abort_hanging(self, place: TopicPartition, open_transaction: OpenTransaction) -> str:
        """Close what no coordinator knows; by what. Raises Refused."""

    async def close(self) -> None: ...
