"""Kill a Spark driver at random moments and count; Spark's own sink under the same kills beside it.

    python tests/spark/kills.py [--bootstrap HOST:PORT] [--seed N] [--runs N] [--kills N]

Without --bootstrap it starts a broker. A seed decides the moments; a failure prints the line that repeats it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.children import Broker, Child, ChildError
from oncelog.spark_jobs.readback import Times, count_rows, read_all

ROWS = 20_000
PER_BATCH = 2000


def fill(bootstrap: str, topic: str) -> None:
    """Rows 0 … ROWS−1, the number being the value."""
    load.create_topic(bootstrap, topic, 3, load.TOPIC_SETTINGS)  # the rows' times are old: retention must not take them
    loader = load.Loader(bootstrap, topic)
    loader.send(flights.Event(f"k{number % 997}".encode(), str(number).encode(), 1_700_000_000_000) for number in range(ROWS))
    loader.flush()


def relay_under_fire(bootstrap: str, source: str, delivery: str, seed: int, kills: int, folder: Path) -> Times:
    """Relay `source` with the given sink, killing the driver `kills` times; what a read_committed consumer counts afterwards."""
    target = f"{source}-{delivery}"
    load.create_topic(bootstrap, target, 3, {})
    dice = random.Random(seed)
    begun = threading.Event()

    def line(text: str) -> None:
        if text.startswith("progress"):
            begun.set()

    options = ["--bootstrap-servers", bootstrap, "--input", source, "--output", target, "--delivery", delivery]
    options += ["--checkpoint", str(folder / delivery), "--max-offsets-per-trigger", str(PER_BATCH)]
    relay = Child("oncelog.spark_jobs.relay", *options, log=folder / f"{delivery}.log", on_line=line)
    for _ in range(kills):
        begun.clear()
        relay.start()
        while relay.running and not begun.wait(0.05):
            pass
        time.sleep(dice.uniform(0.0, 2.5))  # the moment under test
        relay.kill()
    relay.start().finish(240)
    return count_rows((int(message.value or b"-1") for message in read_all(bootstrap, target)), ROWS)


def run(bootstrap: str, seed: int, kills: int, folder: Path) -> dict[str, Times]:
    """One seed with both sinks."""
    source = f"rows-{uuid.uuid4().hex[:6]}"
    fill(bootstrap, source)
    return {delivery: relay_under_fire(bootstrap, source, delivery, seed, kills, folder) for delivery in ("exactly-once", "stock")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        broker = None if options.bootstrap else Broker(Path(folder)).start()
        bootstrap = broker.bootstrap if broker else options.bootstrap
        try:
            for seed in range(options.seed, options.seed + options.runs):
                place = Path(folder) / str(seed)
                place.mkdir()
                counted = run(bootstrap, seed, options.kills, place)
                print(f"seed={seed} kills={options.kills}", *(f"{delivery}: {times}" for delivery, times in counted.items()), flush=True)
                if not counted["exactly-once"].exactly_once:
                    failed += 1
                    print(f"repeat with: python tests/spark/kills.py --seed {seed} --runs 1 --kills {options.kills}")
        except ChildError as error:
            print(error)
            failed += 1
        finally:
            if broker:
                broker.stop()
    print(f"{options.runs - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
