"""A ledger on Spark while broker and driver are killed: debits equal credits at every committed point.

    python tests/spark/ledger_kills.py [--seed N] [--runs N] [--kills N]

Each run posts transfers with spark_jobs/ledger.py's transformation and the exactly-once sink. A seed decides who is killed when: the
broker, the Spark driver, or both. A read_committed consumer watches all the while (ledger_watch.py); at the end every transaction is
checked by itself, from the logs on the disk. A failure prints the line that repeats it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.demo_parts.children import Broker, ChildError
from spark.kills import STEPS, Aim, Driver, Watch, await_either
from spark.ledger_watch import Unbalanced, Verdict, Watcher, judge, transactions

TRANSFERS = 900
PER_BATCH = 60
PARTITIONS = 3
ACCOUNTS = 40
VICTIMS = ("broker", "broker", "driver", "both")
"""A broker is back in a second, a driver in ten."""


@dataclass(frozen=True)
class Outcome:
    """One run that balanced throughout."""

    seed: int
    kills: list[str]
    verdict: Verdict

    def __str__(self) -> str:
        kills, (committed, points, between) = ", ".join(self.kills), self.verdict
        counted = f"transactions={committed} balanced_points={points} points_within_a_commit={between} unbalanced=0"
        return f"seed={self.seed} kills=[{kills}] {counted}"


def fill(bootstrap: str) -> str:
    """A topic of transfers between random accounts."""
    topic, dice = f"transfers-{uuid.uuid4().hex[:6]}", random.Random(7)
    load.create_topic(bootstrap, topic, PARTITIONS, load.TOPIC_SETTINGS)

    def transfer(number: int) -> flights.Event:
        debit, credit = dice.sample(range(ACCOUNTS), 2)
        value = {"id": f"t-{number}", "debit": f"a{debit}", "credit": f"a{credit}", "amount_cents": dice.randint(1, 100_000)}
        return flights.Event(f"t-{number}".encode(), json.dumps(value).encode(), 1_700_000_000_000)

    loader = load.Loader(bootstrap, topic)
    loader.send(transfer(number) for number in range(TRANSFERS))
    loader.flush()
    return topic


def under_fire(broker: Broker, driver: Driver, watch: Watch, watcher: Watcher, dice: random.Random, kills: int) -> list[str]:
    """One run; returns who was killed, when it is done."""
    done = []
    watch.arm(Aim(STEPS[0], 1, 0.0, ""))
    driver.watch = watch
    for _ in range(kills):
        if not driver.running:
            driver.start()
        await_either(driver, watch.reached, watch.finished)
        if watcher.failure is not None or watch.finished.wait(dice.uniform(0.0, 4.0)):  # the moment under test
            break
        victim, where = dice.choice(VICTIMS), watch.last or "at the start"
        if victim != "broker":
            watch.arm(Aim(STEPS[0], 1, 0.0, ""))
            driver.strike("all")
        if victim != "driver":
            broker.kill()
            broker.start()
        done.append(f"{victim} {where}")
    if not driver.running:
        driver.start()
    await_either(driver, watch.finished, watch.finished)
    return done


def run_all(broker: Broker, seeds: list[int], kills: int, folder: Path) -> Iterator[Outcome]:
    """All runs, one after the other. Raises Unbalanced, ChildError."""
    mark = uuid.uuid4().hex[:6]
    source, names = fill(broker.bootstrap), {seed: f"l{seed}-{mark}" for seed in seeds}
    for name in names.values():
        (folder / name).mkdir()
        load.create_topic(broker.bootstrap, f"{name}-exactly-once", PARTITIONS, {})
    options = ["--bootstrap", broker.bootstrap, "--source", source, "--folder", str(folder), "--per-batch", str(PER_BATCH)]
    driver = Driver("ledger", *options, "--deliveries", "exactly-once", *names.values(), log=folder / "driver.log")
    try:
        for seed, name in names.items():
            topic = f"{name}-exactly-once"
            watcher = Watcher(broker.bootstrap, topic, PARTITIONS)
            watcher.start()
            killed = under_fire(broker, driver, Watch(name), watcher, random.Random(seed), kills)
            watcher.finish()
            written = transactions(broker.folder / "data", topic)
            yield Outcome(seed, killed, judge(written, watcher.received, watcher.points, TRANSFERS))
    finally:
        driver.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=4)
    options = parser.parse_args()
    begun, outcomes = time.monotonic(), list[Outcome]()
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder)).start()
        try:
            for outcome in run_all(broker, list(range(options.seed, options.seed + options.runs)), options.kills, Path(folder)):
                outcomes.append(outcome)
                print(outcome, flush=True)
        except (Unbalanced, ChildError) as error:
            seed = options.seed + len(outcomes)
            print(f"{error}\nrepeat with: python tests/spark/ledger_kills.py --seed {seed} --runs 1 --kills {options.kills}")
        finally:
            broker.stop()
    killed, points = sum(len(each.kills) for each in outcomes), sum(each.verdict.points for each in outcomes)
    committed = sum(each.verdict.committed for each in outcomes)
    took = time.monotonic() - begun
    print(f"{len(outcomes)} of {options.runs} runs balanced: {committed} transactions, {points} points, {killed} kills, {took:.0f} s")
    return 0 if len(outcomes) == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
