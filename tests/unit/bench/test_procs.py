from __future__ import annotations

import os
import time

import pytest

from tests.bench.procs import Process, Usage, busy_seconds, family, foreign_load, parse_peak, parse_stat, peak_bytes

pytestmark = pytest.mark.unit
TICK = os.sysconf("SC_CLK_TCK")


def test_busy_is_what_processes_and_a_hypervisor_took() -> None:
    user, nice, system, idle, iowait, irq, softirq, steal, guest = 100, 20, 50, 9_000, 800, 7, 60, 30, 40
    text = f"cpu  {user} {nice} {system} {idle} {iowait} {irq} {softirq} {steal} {guest} 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
    assert busy_seconds(text) == pytest.approx((user + nice + system + steal) / TICK)


@pytest.mark.parametrize(("flags", "kernel"), [(0x00400100, False), (0x00208040, True)])
def test_a_process_has_all_its_threads_and_the_children_it_waited_for(flags: int, kernel: bool) -> None:
    before_times = f"S 17 42 42 0 -1 {flags} 1 2 3 4"
    assert parse_stat(f"99 (a) name) {before_times} 30 20 7 3 20 0 5") == Process(17, 60 / TICK, kernel)


def test_the_family_is_everything_below() -> None:
    assert family({2: 1, 3: 2, 4: 2, 5: 4, 6: 1}, 2) == {2, 3, 4, 5}


def test_foreign_is_what_neither_broker_nor_generator_used() -> None:
    before, after = Usage(100.0, 10.0, 5.0), Usage(106.0, 12.0, 6.0)
    assert foreign_load(before, after, 2.0) == pytest.approx(1.5)


def test_foreign_is_never_below_zero() -> None:
    assert foreign_load(Usage(100.0, 10.0, 5.0), Usage(101.0, 10.6, 5.5), 1.0) == 0.0


def test_peak_is_the_high_water_mark() -> None:
    assert parse_peak("Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t  123 kB\nVmRSS:\t   99 kB\n") == 123 * 1024


def test_this_process_is_the_generator_and_not_the_broker() -> None:
    before = Usage.now(None)
    end = time.process_time() + 5 / TICK
    while time.process_time() < end:
        pass
    after = Usage.now(None)
    assert after.generator - before.generator >= 3 / TICK
    assert before.broker == after.broker == 0.0
    assert Usage.now(os.getpid()).generator == 0.0


def test_memory_that_was_given_back_is_in_the_peak() -> None:
    size = 64 << 20
    taken = bytearray(size)
    taken[::4096] = b"x" * len(taken[::4096])
    del taken
    assert peak_bytes(os.getpid()) > size
