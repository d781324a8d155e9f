"""The Spark driver that kills.py kills: works through a list of runs, each with queries that read one topic and write another.

    python tests/spark/kill_driver.py JOB --bootstrap HOST:PORT --source TOPIC --folder DIR --per-batch N --deliveries A,B RUN [RUN …]

JOB is relay or ledger. Every RUN has the folder DIR/RUN, with the checkpoints of its queries; a file `done` in it says that it is finished.
A driver that starts again goes on with the first run that is not. What the sink asks the broker and what it is answered is printed line by
line as it happens, so that the last line before a kill tells where it struck.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from oncelog.spark_jobs import ledger, relay
from oncelog.spark_jobs.job import arguments, progress_listener, read_topic, start_topic
from oncelog.spark_jobs.session import kafka_session

TRANSFORMS = {"relay": relay.transform, "ledger": ledger.transform}
STOCK_PER_BATCH = 0.4
"""Spark's own sink is the quicker one on small batches; with smaller ones it is still at work when the kill comes."""


def query(session: Any, options: argparse.Namespace, run: str, delivery: str) -> Any:
    """Start one query as `python -m oncelog.spark_jobs.relay` would."""
    target = f"{run}-{delivery}"
    per_batch = int(options.per_batch * (1 if delivery == "exactly-once" else STOCK_PER_BATCH))
    given = ["--bootstrap-servers", options.bootstrap, "--input", options.source, "--output", target, "--delivery", delivery]
    given += ["--checkpoint", str(options.folder / run), "--max-offsets-per-trigger", str(per_batch)]
    job = arguments("kill_driver", "", given)
    return start_topic(TRANSFORMS[options.job](read_topic(session, job)), target, target, "append", job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=TRANSFORMS)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--per-batch", type=int, required=True)
    parser.add_argument("--deliveries", type=lambda text: text.split(","), required=True)
    parser.add_argument("runs", nargs="+")
    options = parser.parse_args()
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("oncelog.spark_jobs").setLevel(logging.DEBUG)
    session = kafka_session("kill_driver", {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "3"})
    session.streams.addListener(progress_listener(sys.stderr))
    for run in options.runs:
        done = options.folder / run / "done"
        if not done.exists():
            for each in [query(session, options, run, delivery) for delivery in options.deliveries]:
                each.awaitTermination()
            done.touch()
            print(f"run {run} done", flush=True)
    session.stop()


if __name__ == "__main__":
    main()
