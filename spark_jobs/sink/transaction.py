"""The driver's half of a transaction: begin it, name its partitions, put the batch number in, end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from oncelog.spark_jobs.sink import wire
from oncelog.spark_jobs.sink.client import RETRIABLE, Cluster

T = TypeVar("T")


class ProducerIdentity(NamedTuple):
    """What a broker knows a transactional producer by; the epoch is what fences an older one."""

    producer_id: int
    epoch: int


NOBODY = ProducerIdentity(-1, -1)


class Position(NamedTuple):
    """How far a query has come, as its transactions recorded it."""

    next_batch: int
    """number of the first micro-batch that is not in yet"""
    owner: str
    """id of the query that wrote it (Spark keeps it in the checkpoint)"""


class TransactionClient:
    """One transactional id, and the group of the same name that holds the query's position."""

    def __init__(self, cluster: Cluster, name: str, timeout_ms: int) -> None:
        self.cluster = cluster
        self.name = name
        self.timeout_ms = min(timeout_ms, 2**31 - 1)

    def begin(self, former: ProducerIdentity = NOBODY) -> ProducerIdentity:
        """A new epoch: whoever held the id before is fenced, and a transaction it left open is aborted before this returns.

        With `former`, the identity this process held last, the broker refuses if someone else has taken the id since: FencedError.
        """
        body = wire.init_producer_id_request(self.name, self.timeout_ms, *former)
        answer = self._transaction(wire.INIT_PRODUCER_ID, body, wire.init_producer_id_answer, lambda answer: answer[0], "InitProducerId")
        return ProducerIdentity(answer[1], answer[2])

    def position(self, owner: str) -> Position:
        """The query's position; another owner's only when `owner` recorded none. Called after `begin`: no transaction of ours is open."""

        def error_of(answer: tuple[int, list[wire.Committed]]) -> int:
            return answer[0] or next((each.error for each in answer[1] if each.error), 0)

        body = wire.offset_fetch_request(self.name)
        _, found = self.cluster.ask_coordinator(
            wire.GROUP, self.name, wire.OFFSET_FETCH, body, wire.offset_fetch_answer, error_of, f"OffsetFetch of {self.name}"
        )
        # it is kept under partition 0 of a topic that the batch wrote to; with several topics the highest of the owner's counts,
        # and not a higher one that an earlier owner left under another topic
        last = max(found, key=lambda each: (each.metadata == owner, each.offset), default=wire.Committed(0, 0, ""))
        return Position(max(last.offset, 0), last.metadata)

    def add_partitions(self, identity: ProducerIdentity, partitions: Mapping[str, Sequence[int]]) -> None:
        """The transaction opens here; its time-out runs from now."""
        body = wire.add_partitions_request(self.name, *identity, dict(partitions))
        # each partition's error is either that partition's own or 55 (the others were not tried): the own one says more
        self._transaction(wire.ADD_PARTITIONS, body, wire.topics_answer, lambda errors: _worst(errors.values()), "AddPartitionsToTxn")

    def add_position(self, identity: ProducerIdentity, topic: str, position: Position) -> None:
        """Make the new position part of the transaction; it counts if and when the transaction commits."""
        body = wire.add_offsets_request(self.name, *identity, self.name)
        self._transaction(wire.ADD_OFFSETS, body, wire.error_answer, lambda error: error, "AddOffsetsToTxn")
        body = wire.txn_offset_commit_request(self.name, self.name, *identity, topic, position.next_batch, position.owner)
        self.cluster.ask_coordinator(
            wire.GROUP,
            self.name,
            wire.TXN_OFFSET_COMMIT,
            body,
            wire.topics_answer,
            lambda errors: _worst(errors.values()),
            f"TxnOffsetCommit of {self.name}",
        )

    def end(self, identity: ProducerIdentity, commit: bool) -> None:
        """Commit or abort.

        A repeated call after a lost answer is answered like the first one. When no answer comes at all (NotReachedError), the
        outcome is open: the next `begin` and `position` tell it.
        """
        body = wire.end_txn_request(self.name, *identity, commit)
        self._transaction(wire.END_TXN, body, wire.error_answer, lambda error: error, "EndTxn")

    def _transaction(self, api: wire.Api, body: Sequence[bytes], read: Callable[[bytes], T], error_of: Callable[[T], int], what: str) -> T:
        return self.cluster.ask_coordinator(wire.TRANSACTION, self.name, api, body, read, error_of, f"{what} of {self.name}")


def _worst(errors: Iterable[int]) -> int:
    """The error that decides: a final one before one that passes, 55 (OPERATION_NOT_ATTEMPTED) only when there is no other."""
    codes = [code for code in errors if code]
    return min(codes, key=lambda code: (code == 55, code in RETRIABLE), default=0)
