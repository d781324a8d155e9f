"""Shorthands of the numbered transaction cases.

A state is written (state, producer id, epoch, last epoch); P is the first producer id, Q the one after a rotation.
"""

from __future__ import annotations

from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.names import TopicPartition

from support.txn_bench import Bench

Q = P + 1


def txn_records(bench: Bench) -> int:
    return sum(tp.topic == "__transaction_state" for tp, _ in bench.logs.journal)


def a(*partitions: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("a", partition) for partition in partitions)


def at(state: S, epoch: int, last: int = -1, partitions: tuple[int, ...] = (), **config: int) -> Bench:
    bench = Bench(**config)
    bench.force(state, epoch, last=last, partitions=partitions)
    return bench
