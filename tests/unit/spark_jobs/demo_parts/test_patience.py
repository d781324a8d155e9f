"""Deadlines that stretch with the machine's load; stuck told from slow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from oncelog.spark_jobs.demo_parts.patience import Patience, Watch, machine_share, session_cpu_seconds


class World:
    """A clock, the share of a processor that is to be had, and the CPU time of process 1."""

    def __init__(self, share: float = 1.0) -> None:
        self.now, self.share, self.cpu = 100.0, share, 0.0
        self.offsets = 0

    def passes(self, seconds: float, *, working: float = 0.0, patience: Patience | Watch | None = None) -> None:
        """Second by second; `working`: the part of what it could get that process 1 uses."""
        for _ in range(int(seconds)):
            self.now += 1
            self.cpu += working * self.share
            if isinstance(patience, Patience):
                assert patience.spent >= 0
            elif patience is not None:
                assert patience.stuck() is None, self.now

    def patience(self, seconds: float) -> Patience:
        return Patience(seconds, clock=lambda: self.now, share=lambda: self.share)

    def watch(self, idle: float, busy: float = 900.0) -> Watch:
        return Watch(
            idle,
            busy,
            sessions=lambda: [1],
            position=lambda: self.offsets,
            clock=lambda: self.now,
            share=lambda: self.share,
            cpu=lambda _: self.cpu,
        )


def test_on_an_idle_machine_a_limit_is_what_it_says() -> None:
    world = World()
    patience = world.patience(60)
    world.passes(59, patience=patience)
    assert not patience.over
    world.passes(1)
    assert patience.over
    assert str(patience) == "60 s"


def test_a_limit_stretches_with_the_load() -> None:
    world = World(share=0.1)
    patience = world.patience(60)
    world.passes(590, patience=patience)
    assert not patience.over
    world.passes(11, patience=patience)
    assert patience.over
    assert "601 s by the clock" in str(patience)


def test_only_the_busy_part_of_a_wait_is_stretched() -> None:
    world = World()
    patience = world.patience(60)
    world.passes(30, patience=patience)
    world.share = 0.5
    world.passes(58, patience=patience)
    assert not patience.over
    world.passes(3, patience=patience)
    assert patience.over


def test_a_blocking_wait_is_repeated_until_the_limit_is_over() -> None:
    world = World(share=0.25)
    patience = world.patience(10)
    slices: list[float] = []

    def wait(seconds: float) -> None:
        slices.append(seconds)
        world.now += seconds
        raise TimeoutError

    with pytest.raises(TimeoutError):
        patience.wait(wait)
    assert sum(slices) >= 40 * 0.95
    assert max(slices) <= 5


def test_the_share_follows_what_wants_to_run() -> None:
    processors = len(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * processors)]
    try:
        patience = Patience(60)
        while machine_share() > 0.4:
            assert not patience.over, "four loops for each processor leave a quarter at most"
        assert machine_share() > 0
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_slow_is_not_stuck() -> None:
    world = World(share=0.05)
    world.passes(3600, working=0.9, patience=world.watch(60))


def test_a_silent_process_that_uses_no_cpu_is_stuck() -> None:
    world = World()
    watch = world.watch(60)
    world.passes(59, working=0.03, patience=watch)
    world.passes(1, working=0.03)
    assert "hardly any CPU time" in (watch.stuck() or "")


def test_what_waits_on_a_busy_machine_is_stuck_later() -> None:
    world = World(share=0.1)
    watch = world.watch(60)
    world.passes(590, working=0.3, patience=watch)
    world.passes(11, working=0.3)
    assert "by the clock, for the machine is busy" in (watch.stuck() or "")


def test_offsets_that_move_are_progress() -> None:
    world = World()
    watch = world.watch(60)
    for _ in range(20):
        world.offsets += 1
        world.passes(55, working=0.01, patience=watch)


def test_progress_begins_the_wait_again() -> None:
    world = World()
    watch = world.watch(60)
    for _ in range(20):
        world.passes(59, working=0.01, patience=watch)
        watch.progress()


def test_cpu_time_without_end_and_without_progress_is_stuck() -> None:
    world = World()
    watch = world.watch(60, busy=300)
    world.passes(290, working=1.0, patience=watch)
    world.passes(15, working=1.0)
    assert "used 30" in (watch.stuck() or "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_cpu_time_of_a_session_is_that_of_all_its_processes() -> None:
    burn = f"{sys.executable} -c 'while __import__(\"time\").process_time() < 0.4: pass'"
    with subprocess.Popen(["sh", "-c", f"{burn} & {burn}; wait; echo; read end"], start_new_session=True, stdin=-1, stdout=-1) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdout.readline()
        used = session_cpu_seconds(shell.pid)
        shell.stdin.close()
    assert used is not None
    assert used >= 0.75
    assert session_cpu_seconds(shell.pid) is None
