"""The flights demo: everything on the way is killed at least once, and still every flight is counted once."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oncelog.spark_jobs import load
from oncelog.spark_jobs.demo_parts.children import Broker, Child, ChildError
from oncelog.spark_jobs.demo_parts.patience import Patience, Watch
from oncelog.spark_jobs.demo_parts.pipelines import Flights, Verdict
from oncelog.spark_jobs.demo_parts.readback import Times, count_rows, read_all
from oncelog.spark_jobs.demo_parts.timeline import Timeline

Done = Callable[[int], None]
LOAD, ONCE, STOCK, TABLE = "flights loaded", "relayed, exactly-once sink", "relayed, Spark's own sink", "departures counted"

STARTS_FOR_NOTHING = 3
"""A child that ends badly that often, one start after the other and no row further, is given up."""
IDLE_SECONDS, LOADER_IDLE_SECONDS = 60.0, 15.0


@dataclass(frozen=True)
class Relayed:
    """What became of the rows in one topic."""

    what: str
    times: Times
    aborted: int
    """records that only read_uncommitted shows"""


class Chaos:
    """One run. `broker` is None when the Kafka belongs to someone else: then it is not killed."""

    def __init__(self, bootstrap: str, broker: Broker | None, folder: Path, run: str, timeline: Timeline) -> None:
        self.bootstrap = bootstrap
        self.broker = broker
        self.folder = folder
        self.timeline = timeline
        self.flights = Flights(run)
        self.rows = self.flights.rows
        self.once, self.stock = f"flights-once-{run}", f"flights-stock-{run}"
        self.partitions = {self.flights.topic: 3, self.once: 3, self.stock: 3, self.flights.table_topic: 1}

    # ------------------------------------------------------------------------------------------------------------------- stages

    def load(self, done: Done) -> None:
        """The transactional loader: it is killed once, then the broker under it."""
        for topic, partitions in self.partitions.items():
            load.create_topic(self.bootstrap, topic, partitions, load.TOPIC_SETTINGS)
        loader = Child(
            "oncelog.spark_jobs.load", "--bootstrap-servers", self.bootstrap, "--topic", self.flights.topic, "--transactions", "4000",
            "--abort-percent", "5", log=self.folder / "load.log", on_line=self._watch(LOAD, r"rows=(\d+)", done),
        )  # fmt: skip
        # librdkafka's send_offsets_to_transaction may wait for ever when the broker dies during the call: a stuck loader is started again
        kills = {0.25: lambda: self._kill(loader, "loader"), 0.6: self._kill_broker}
        self._run(loader, kills, LOAD, self._watch_for(loader, self.flights.topic, LOADER_IDLE_SECONDS))

    def relay_once(self, done: Done) -> None:
        """The exactly-once sink: the Spark driver is killed in the middle of a micro-batch, later the broker."""
        relay = self._relay(self.once, "exactly-once", self._watch(ONCE, r"progress \S+ batch=\d+ rows=(\d+)", done, add=True))
        self._run(
            relay,
            {0.3: lambda: self._kill_in_batch(relay, ONCE, self.once), 0.65: self._kill_broker},
            ONCE,
            self._watch_for(relay, self.once),
        )

    def relay_stock(self, done: Done) -> None:
        """Spark's own sink under the same kill of the driver."""
        relay = self._relay(self.stock, "stock", self._watch(STOCK, r"progress \S+ batch=\d+ rows=(\d+)", done, add=True))
        self._run(relay, {0.3: lambda: self._kill_in_batch(relay, STOCK, self.stock)}, STOCK, self._watch_for(relay, self.stock))

    def count(self, done: Done) -> None:
        """The departures job, over what the exactly-once relay wrote."""
        outputs = [argument for output in self.flights.outputs(self.folder) for argument in ("--output", output)]
        options = ["--bootstrap-servers", self.bootstrap, "--input", self.once, "--checkpoint", str(self.folder / "checkpoint")]
        watch = self._watch(TABLE, rf"progress query=departures-{self.flights.table_topic} batch=\d+ rows=(\d+)", done, add=True)
        job = Child(self.flights.job, *options, *outputs, "--delivery", "exactly-once", log=self.folder / "spark.log", on_line=watch)
        job.start().finish_unless_stuck(self._watch_for(job, self.flights.table_topic))

    def _relay(self, topic: str, delivery: str, watch: Callable[[str], None]) -> Child:
        options = ["--bootstrap-servers", self.bootstrap, "--input", self.flights.topic, "--output", topic, "--delivery", delivery]
        options += ["--checkpoint", str(self.folder / "checkpoint"), "--max-offsets-per-trigger", "60000"]
        return Child("oncelog.spark_jobs.relay", *options, log=self.folder / f"relay-{delivery}.log", on_line=watch)

    # ----------------------------------------------------------------------------------------------------------------- supervision

    def _watch(self, stage: str, pattern: str, done: Done, add: bool = False) -> Callable[[str], None]:
        """Follow a child's lines: each matching one carries the rows so far (or, with `add`, the rows more)."""

        def line(text: str) -> None:
            found = re.match(pattern, text)
            if found:
                rows = int(found[1]) + (self._reached(stage) if add else 0)
                self.timeline.reached(stage, rows)
                done(rows)

        return line

    def _reached(self, stage: str) -> int:
        points = self.timeline.rows.get(stage)
        return points[-1][1] if points else 0

    def _watch_for(self, child: Child, topic: str, idle: float = IDLE_SECONDS) -> Watch:
        """Sees whether `child`, which writes to `topic`, gets on."""

        def position() -> object:
            with self._end_offsets(topic) as ends:
                return ends()

        return Watch(idle, sessions=lambda: [*child.sessions, *(self.broker.sessions if self.broker else [])], position=position)

    def _run(self, child: Child, kills: dict[float, Callable[[], None]], stage: str, watch: Watch) -> None:
        """Run `child` to its good end, doing each of `kills` once its share of the rows is reached.

        It is started again whenever it ends badly or is stuck; slow it may be. Raises ChildError when starts bring it no further.
        """
        due = sorted(kills.items())
        reached, fruitless = 0, 0
        child.start()
        try:
            while True:
                if self._reached(stage) > reached:
                    reached, fruitless = self._reached(stage), 0
                    watch.progress()
                if due and reached >= due[0][0] * self.rows:
                    due.pop(0)[1]()
                    fruitless = -1  # this end of it was our doing
                if child.running and (why := watch.stuck()):
                    child.kill()
                    child.remark(f"{why}: killed, to be started again")
                if not child.running:
                    try:
                        child.finish(1)
                        return
                    except ChildError as failed:
                        fruitless += 1
                        if fruitless >= STARTS_FOR_NOTHING:
                            raise ChildError(f"{fruitless} starts in a row brought it no further than row {reached:,}; {failed}") from None
                    child.start()
                    watch.progress()
                time.sleep(0.02)
        finally:
            child.kill()

    def _kill(self, child: Child, what: str) -> None:
        child.kill()
        self.timeline.killed(what)

    def _kill_broker(self) -> None:
        if self.broker:
            self.broker.kill()
            self.timeline.killed("broker")
            self.broker.start()

    def _kill_in_batch(self, child: Child, stage: str, topic: str) -> None:
        """Kill the driver when its topic holds more than its finished batches account for: a micro-batch is half written then."""
        patience = Patience(20)
        with self._end_offsets(topic) as ends:
            while child.running and not patience.over and sum(ends()) <= self._reached(stage) + 2000:
                time.sleep(0.01)
        self._kill(child, "Spark driver")

    @contextmanager
    def _end_offsets(self, topic: str) -> Iterator[Callable[[], list[int]]]:
        """What asks for the ends of a topic's partitions; nothing while the broker does not answer."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        settings = {"bootstrap.servers": self.bootstrap, "group.id": "watch", "isolation.level": "read_uncommitted", "log_level": 2}
        consumer = Consumer(settings)

        def ends() -> list[int]:
            try:
                return [
                    consumer.get_watermark_offsets(TopicPartition(topic, partition), 5)[1] for partition in range(self.partitions[topic])
                ]
            except KafkaException:
                return []

        try:
            yield ends
        finally:
            consumer.close()

    # --------------------------------------------------------------------------------------------------------------------- verdict

    def relayed(self) -> list[Relayed]:
        """Every row number in the three row topics, counted with confluent-kafka."""
        found = []
        for what, topic in ((LOAD, self.flights.topic), (ONCE, self.once), (STOCK, self.stock)):
            times = count_rows((json.loads(message.value or b"{}")["row"] for message in read_all(self.bootstrap, topic)), self.rows)
            everything = sum(1 for _ in read_all(self.bootstrap, topic, committed=False))
            found.append(Relayed(what, times, everything - times.rows))
        return found

    def tables(self) -> list[Verdict]:
        """The departures, as topic and as Parquet, against the count straight from the data."""
        return self.flights.table_verdicts(self.bootstrap, self.folder)
