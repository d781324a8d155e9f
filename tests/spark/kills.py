"""Kill a Spark driver at random moments and count; Spark's own sink under the same kills beside it.

    python tests/spark/kills.py [--bootstrap HOST:PORT] [--seed N] [--runs N] [--kills N] [--without-stock]

Without --bootstrap it starts a broker. A seed decides the moments; a failure prints the line that repeats it. One driver works through
all runs, both sinks at the same time; each kill is followed by a new driver, which goes on in the middle of the run. A kill is aimed at a
random time after the first micro-batch began, or at a step of the transaction (a few ms after the driver's line about it). Where it struck
is told by the last thing the driver printed and by the commit log in the checkpoint.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.demo_parts.children import Broker, Child, ChildError
from oncelog.spark_jobs.demo_parts.patience import Patience
from oncelog.spark_jobs.demo_parts.readback import Times, count_rows, read_all

ROWS = 3600
PER_BATCH = 400
RUN_SECONDS = 240.0
SINKS = ("exactly-once", "stock")

STEPS = ("InitProducerId asked", "AddPartitionsToTxn answered", "AddOffsetsToTxn asked", "EndTxn asked", "EndTxn answered")
"""What a kill can be aimed at."""
PHASES = {
    "InitProducerId asked": "in InitProducerId",
    "AddPartitionsToTxn answered": "while tasks write",
    "AddOffsetsToTxn asked": "while the position is added",
    "AddOffsetsToTxn answered": "while the position is added",
    "TxnOffsetCommit asked": "while the position is added",
    "TxnOffsetCommit answered": "while the position is added",
    "EndTxn asked": "in EndTxn",
    "EndTxn answered": "after EndTxn",
}
PREPARING = "before tasks write"
UNLOGGED, BETWEEN = "after EndTxn, before Spark's commit log", "between batches"
VICTIMS = ("all", "all", "jvm", "python")
"""Which processes of the driver die: all of them, or only its Java or its Python half."""


class Aim(NamedTuple):
    """When to kill."""

    step: str
    """the line to wait for, one of STEPS"""
    batch: int
    """in the n-th micro-batch of this driver's life"""
    delay: float
    """seconds after that line"""
    victim: str


def aims(seed: int, kills: int) -> list[Aim]:
    """Half of the kills at a random time, half at a random step."""
    dice = random.Random(seed)

    def aim() -> Aim:
        victim = dice.choice(VICTIMS)
        if dice.random() < 0.5:
            return Aim(STEPS[0], 1, dice.uniform(0.0, 3.0), victim)
        step = dice.choice(STEPS)
        return Aim(step, dice.randint(1, 3), dice.uniform(0.0, 0.003 if step == "EndTxn asked" else 0.03), victim)

    return [aim() for _ in range(kills)]


@dataclass
class Watch:
    """What a driver's lines say about the exactly-once query of one run."""

    name: str
    aim: Aim | None = None
    reached: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)
    last: str = ""
    batch: int = -1
    recognised: int = 0
    """batches that a new driver found in already"""
    _seen: int = 0

    def arm(self, aim: Aim | None) -> None:
        """A new driver is about to start."""
        self.aim, self.last, self._seen = aim, "", 0
        self.reached.clear()

    def line(self, text: str) -> None:
        """Called with every line the driver prints."""
        if text == f"run {self.name} done":
            self.finished.set()
        asked = re.fullmatch(rf"(\w+) of {self.name}-[\w-]+ (asked|answered)(?: error=\d+)?", text)
        found = re.match(rf"query={self.name}-\S+ batch=(\d+) (.*)", text)
        if found:
            self.batch = int(found[1])
            self.recognised += found[2] == "is in already"
        if asked:
            self.last = f"{asked[1]} {asked[2]}"
            if self.aim and self.last == self.aim.step:
                self._seen += 1
                if self._seen == self.aim.batch:
                    self.reached.set()

    def phase(self, checkpoint: Path) -> str:
        """Where the kill struck."""
        where = PHASES.get(self.last, PREPARING)
        if where != "after EndTxn":
            return where
        return BETWEEN if (checkpoint / "commits" / str(self.batch)).exists() else UNLOGGED


class Kill(NamedTuple):
    """A kill that was carried out."""

    aim: Aim
    phase: str
    after: float
    """seconds from the driver's start"""

    def __str__(self) -> str:
        return f"{self.after:.2f}s {self.phase!r} ({self.aim.victim})"


@dataclass
class Outcome:
    """One run."""

    seed: int
    kills: list[Kill]
    recognised: int
    counted: dict[str, Times] = field(default_factory=dict)

    def __str__(self) -> str:
        sinks = " ".join(f"{sink}: rows={times.rows} missing={times.missing} extra={times.extra}" for sink, times in self.counted.items())
        return f"seed={self.seed} kills=[{'; '.join(map(str, self.kills))}] recognised={self.recognised} {sinks}"


class Driver(Child):
    """kill_driver.py."""

    def __init__(self, *arguments: str, log: Path) -> None:
        # a JVM that compiles little starts sooner; what a killed driver leaves on the disk goes with the folder
        env = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "SPARK_LOCAL_DIRS": str(log.parent / "local")}
        super().__init__("", log=log, on_line=self._line, env=env)
        self.command = [sys.executable, str(Path(__file__).with_name("kill_driver.py")), *arguments]
        self.watch: Watch | None = None

    def _line(self, text: str) -> None:
        if self.watch is not None:
            self.watch.line(text)

    def strike(self, victim: str) -> None:
        """SIGKILL to the driver, or to one half of it: then the other one gets 20 s to notice."""
        assert self.process is not None
        group = self.process.pid
        if victim != "all":
            os.kill(group if victim == "python" else java_child(group), signal.SIGKILL)
            self._reader.join(20)
        with contextlib.suppress(ProcessLookupError):  # the other half may be gone by now
            os.killpg(group, signal.SIGKILL)
        self.kill()


def java_child(pid: int) -> int:
    """The JVM that a Python driver started."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)", stat.read_text().strip(), re.DOTALL).groups()  # type: ignore[union-attr]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if name == "java" and int(fields.split()[1]) == pid:
            return int(stat.parent.name)
    raise ChildError(f"process {pid} has no java")


def fill(bootstrap: str) -> str:
    """A topic with rows 0 … ROWS−1, the number being the value."""
    topic = f"rows-{uuid.uuid4().hex[:6]}"
    load.create_topic(bootstrap, topic, 3, load.TOPIC_SETTINGS)  # the rows' times are old: retention must not take them
    loader = load.Loader(bootstrap, topic)
    loader.send(flights.Event(f"k{number % 997}".encode(), str(number).encode(), 1_700_000_000_000) for number in range(ROWS))
    loader.flush()
    return topic


def under_fire(driver: Driver, watch: Watch, plan: list[Aim], checkpoint: Path) -> list[Kill]:
    """One run, killed as planned; returns when it is done."""
    done = []
    for aim in plan:
        watch.arm(aim)
        driver.watch = watch
        if not driver.running:
            driver.start()
        await_either(driver, watch.reached, watch.finished)
        if watch.finished.is_set():
            break
        time.sleep(aim.delay)  # the moment under test
        after = time.monotonic() - driver.started
        driver.strike(aim.victim)
        done.append(Kill(aim, watch.phase(checkpoint), after))
        watch.arm(None)
        driver.start()
    driver.watch = watch
    if not driver.running:
        driver.start()
    await_either(driver, watch.finished, watch.finished)
    return done


def await_either(driver: Driver, one: threading.Event, other: threading.Event) -> None:
    """Wait for one of two events. Raises ChildError when the driver ends or takes too long."""
    patience = Patience(RUN_SECONDS)
    while not (one.wait(0.02) or other.is_set()):
        if not driver.running or patience.over:
            driver.kill()
            raise ChildError(f"the driver ended or hangs\n{driver.tail()}")


def run_all(bootstrap: str, seeds: list[int], kills: int, folder: Path, sinks: tuple[str, ...] = SINKS) -> Iterator[Outcome]:
    """All runs, one after the other; an outcome is counted while the driver goes on."""
    source, mark = fill(bootstrap), uuid.uuid4().hex[:6]
    names = {seed: f"r{seed}-{mark}" for seed in seeds}
    for name in names.values():
        (folder / name).mkdir()
        for sink in sinks:
            load.create_topic(bootstrap, f"{name}-{sink}", 3, {})
    options = ["--bootstrap", bootstrap, "--source", source, "--folder", str(folder), "--per-batch", str(PER_BATCH)]
    driver = Driver("relay", *options, "--deliveries", ",".join(sinks), *names.values(), log=folder / "driver.log")
    with ThreadPoolExecutor(1) as counting:
        counted: list[Future[Outcome]] = []
        try:
            for seed, name in names.items():
                watch = Watch(name)
                done = under_fire(driver, watch, aims(seed, kills), folder / name / f"{name}-exactly-once")
                outcome = Outcome(seed, done, watch.recognised)
                counted.append(counting.submit(count, bootstrap, name, sinks, outcome))
                while counted and counted[0].done():
                    yield counted.pop(0).result()
            driver.finish(60)
        finally:
            driver.kill()
        yield from (each.result() for each in counted)


def count(bootstrap: str, name: str, sinks: tuple[str, ...], outcome: Outcome) -> Outcome:
    """What a stock read_committed consumer finds in the topics of a run."""
    for sink in sinks:
        outcome.counted[sink] = count_rows((int(message.value or b"-1") for message in read_all(bootstrap, f"{name}-{sink}")), ROWS)
    return outcome


def summary(outcomes: list[Outcome]) -> Iterator[str]:
    """What all runs came to."""
    struck = Counter(kill.phase for outcome in outcomes for kill in outcome.kills)
    yield f"kills={struck.total()} " + ", ".join(f"{phase}: {number}" for phase, number in struck.most_common())
    yield f"batches that a new driver found in already: {sum(outcome.recognised for outcome in outcomes)}"
    for sink in SINKS:
        found = [outcome.counted[sink] for outcome in outcomes if sink in outcome.counted]
        if found:
            missing, extra = sum(times.missing for times in found), sum(times.extra for times in found)
            right = sum(times.exactly_once for times in found)
            yield f"{sink}: {len(found)} runs of {ROWS} rows, lost={missing} duplicates={extra}, {right} runs exactly once"


@contextlib.contextmanager
def kafka(bootstrap: str | None, folder: Path) -> Iterator[str]:
    """The Kafka given, or a broker for the time of the test."""
    if bootstrap:
        yield bootstrap
        return
    broker = Broker(folder)
    try:
        yield broker.start().bootstrap
    finally:
        broker.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--without-stock", action="store_true", help="only the exactly-once sink: quicker")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    failed = 0
    with tempfile.TemporaryDirectory() as folder, kafka(options.bootstrap, Path(folder)) as bootstrap:
        seeds = list(range(options.seed, options.seed + options.runs))
        sinks = SINKS[:1] if options.without_stock else SINKS
        try:
            for outcome in run_all(bootstrap, seeds, options.kills, Path(folder), sinks):
                outcomes.append(outcome)
                print(outcome, flush=True)
                once = outcome.counted.get("exactly-once")
                if (once and not once.exactly_once) or any(times.missing for times in outcome.counted.values()):
                    failed += 1
                    print(f"repeat with: python tests/spark/kills.py --seed {outcome.seed} --runs 1 --kills {options.kills}")
        except ChildError as error:
            print(error)
            failed += 1
    print(*summary(outcomes), f"{len(outcomes) - failed} passed, {failed} failed", sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
