"""No producer id twice, whatever happens between two starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.coordinator.txn.producer_ids import BLOCK_SIZE, FIRST_PRODUCER_ID, ProducerIds
from support.txn_bench import now
from support.txn_machine import Machine


class Disk:
    def __init__(self) -> None:
        self.value: int | None = None
        self.full = False

    def persist(self, value: int) -> None:
        if self.full:
            raise OSError("no space left")
        self.value = value


def test_first_block_starts_at_two_to_the_forty_and_is_durable_before_its_first_id() -> None:
    disk = Disk()
    ids = ProducerIds(None, disk.persist)
    assert disk.value is None
    assert ids.next_id() == FIRST_PRODUCER_ID == 2**40
    assert disk.value == FIRST_PRODUCER_ID + BLOCK_SIZE


def test_rest_of_a_block_is_lost_at_a_restart() -> None:
    disk = Disk()
    ProducerIds(None, disk.persist).next_id()
    assert ProducerIds(disk.value, disk.persist).next_id() == FIRST_PRODUCER_ID + BLOCK_SIZE


def test_failed_write_gives_nothing_away() -> None:
    disk = Disk()
    ids = ProducerIds(None, disk.persist)
    disk.full = True
    for _ in range(2):
        with pytest.raises(OSError, match="no space"):
            ids.next_id()
    disk.full = False
    assert ids.next_id() == FIRST_PRODUCER_ID


def test_keeps_clear_of_ids_in_the_logs() -> None:
    disk = Disk()
    ids = ProducerIds(None, disk.persist)
    ids.keep_clear_of([3, FIRST_PRODUCER_ID + 7])
    assert ids.next_id() == FIRST_PRODUCER_ID + 8
    ids.keep_clear_of([])
    assert ids.next_id() == FIRST_PRODUCER_ID + 9


@given(st.lists(st.one_of(st.integers(1, 2500), st.sampled_from(["restart", "full", "empty"])), max_size=12))
def test_never_twice(plan: list[int | str]) -> None:
    disk, seen = Disk(), set[int]()
    ids = ProducerIds(None, disk.persist)
    for step in plan:
        if step == "restart":
            ids = ProducerIds(disk.value, disk.persist)
        elif isinstance(step, str):
            disk.full = step == "full"
        else:
            for _ in range(step):
                try:
                    given_out = ids.next_id()
                except OSError:
                    break
                assert given_out not in seen
                seen.add(given_out)


def test_producer_ids_are_never_given_twice_over_power_cuts() -> None:
    seen: set[int] = set()
    machine = Machine()
    for _ in range(5):
        for _ in range(3):
            producer_id = now(machine.service.init_producer_id(None, 0)).producer_id
            assert producer_id not in seen
            seen.add(producer_id)
        machine.power_cut()
