"""Brokers to be killed at a chosen change of their disk or at any moment, raw transactional clients, and rounds that can be repeated."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.records import build_batch

from support import killing_serve
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.txn_clients import visible
from support.wire import Connection

TOPIC = "t"
TIMEOUT_MS = 60_000  # far longer than a round takes on a busy machine
BUSY = {E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_ENOUGH_REPLICAS}
ROUNDS_PER_DIRECTORY = 50  # then a new one, or reading the old rounds would take most of the time


class KillingBroker(BrokerProcess):
    """Dies at the Nth change of the disk after `arm(N)`, or some time after `shoot_in`."""

    launcher = (killing_serve.__file__,)

    def __init__(self, data_dir: Path, overrides: Mapping[str, str]) -> None:
        self.kill_file = data_dir.parent / f"{data_dir.name}-kill-at"
        self.clients: list[Client] = []
        self._shot: threading.Timer | None = None
        super().__init__(data_dir, overrides, env={killing_serve.KILL_FILE: str(self.kill_file)})

    def arm(self, nth: int) -> None:
        draft = self.kill_file.with_suffix(".new")
        draft.write_text(str(nth))
        draft.rename(self.kill_file)

    def shoot_in(self, seconds: float) -> None:
        """SIGKILL from outside, wherever it is then."""
        assert self._process is not None
        self._shot = threading.Timer(seconds, self._process.kill)
        self._shot.start()

    def doom(self, chance: random.Random, changes: Sequence[int], seconds: float) -> str:
        """See to its death, one way or the other: before one of these changes of the disk, or within `seconds`. What was chosen."""
        if chance.random() < 0.5:
            nth = chance.choice(changes)
            self.arm(nth)
            return f"change {nth}"
        delay = chance.random() * seconds
        self.shoot_in(delay)
        return f"outside after {delay * 1000:.1f} ms"

    def start(self) -> KillingBroker:
        begun = self.output.stat().st_size if self.output.exists() else 0
        try:
            super().start()
        except AssertionError as error:
            if self.running:
                assert self._process is not None
                self._process.send_signal(signal.SIGUSR1)
                wait_until(lambda: b"most recent call first" in self.output.read_bytes()[begun:], what="its stack")
            said = self.output.read_bytes()[begun:].decode(errors="replace")
            raise AssertionError(f"{error}; load {os.getloadavg()}; it said: {said[-3000:]}") from error
        return self

    def revive(self) -> None:
        """See to its death, if it is not dead yet, and start it again."""
        if self._shot is not None:
            self._shot.cancel()
            self._shot.join()
            self._shot = None
        self.kill()
        self.kill_file.unlink(missing_ok=True)
        self.close_clients()
        self.start()

    def close_clients(self) -> None:
        for client in self.clients:
            client.close()
        self.clients.clear()


class Client:
    """A raw transactional producer; `tv2`: adds partitions by Produce v12 and ends with EndTxn v5. It reconnects by itself."""

    def __init__(self, broker: KillingBroker, transactional_id: str | None, *, tv2: bool = True, timeout_ms: int = TIMEOUT_MS) -> None:
        self.broker = broker
        self.id = transactional_id
        self.tv2 = tv2
        self.timeout_ms = timeout_ms
        self.pair = (-1, -1)
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- requests

    def send(self, key: ApiKey, version: int, fields: dict[str, Any]) -> Callable[[], Any]:
        """Send a request; what waits for its answer. ConnectionError, now or then, when the broker dies before it."""
        if self._connection is None:
            self._connection = Connection(self.broker.bootstrap, timeout=30)
            self.broker.clients.append(self)
        connection = self._connection
        message = build(getattr(messages, f"{key.schema_name}Request"), fields)
        body = bytes(messages.encode_request(key, version, message))

        def told_of_death(step: Callable[[], Any]) -> Any:
            try:
                return step()
            except (OSError, AssertionError) as error:
                self.close()
                raise ConnectionError(str(error)) from error

        correlation_id = told_of_death(lambda: connection.send(key, version, body))
        return lambda: told_of_death(lambda: connection.receive(key, version, correlation_id))

    def call(self, key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
        return self.send(key, version, fields)()

    def settled(self, key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
        """The first answer that is not "try again"."""

        def ask() -> Any:
            answer = self.call(key, version, fields)
            return None if E(answer.error_code) in BUSY else answer

        return wait_until(ask, 30, key.name)

    def init_fields(self, pair: tuple[int, int] = (-1, -1)) -> dict[str, Any]:
        fields = {"transactional_id": self.id, "transaction_timeout_ms": self.timeout_ms}
        return {**fields, "producer_id": pair[0], "producer_epoch": pair[1]}

    def init(self, pair: tuple[int, int] = (-1, -1)) -> E:
        answer = self.settled(ApiKey.INIT_PRODUCER_ID, 5, self.init_fields(pair))
        if answer.error_code == 0:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return E(answer.error_code)

    def add(self, partitions: Iterable[int]) -> set[E]:
        producer = {"v3_and_below_transactional_id": self.id, "v3_and_below_producer_id": self.pair[0]}
        topics = [{"name": TOPIC, "partitions": list(partitions)}]
        fields = {**producer, "v3_and_below_producer_epoch": self.pair[1], "v3_and_below_topics": topics}
        answer = self.call(ApiKey.ADD_PARTITIONS_TO_TXN, 3, fields)
        return {E(p.partition_error_code) for t in answer.results_by_topic_v3_and_below for p in t.results_by_partition}

    def add_offsets(self, group: str) -> E:
        fields = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "group_id": group}
        return E(self.call(ApiKey.ADD_OFFSETS_TO_TXN, 3, fields).error_code)

    def produce(self, partitions: Iterable[int], value: bytes, sequence: int) -> list[tuple[E, int]]:
        """(error, base offset) of each partition."""
        batch = build_batch(
            [(int(time.time() * 1000), None, value)],
            producer_id=self.pair[0],
            producer_epoch=self.pair[1],
            base_sequence=sequence,
            is_transactional=self.id is not None,
        )
        data = [{"index": n, "records": bytes(batch)} for n in partitions]
        fields = {"transactional_id": self.id, "acks": -1, "timeout_ms": 5000, "topic_data": [{"name": TOPIC, "partition_data": data}]}
        answer = self.call(ApiKey.PRODUCE, 12 if self.tv2 else 11, fields)
        return [(E(p.error_code), p.base_offset) for t in answer.responses for p in t.partition_responses]

    def write(self, partitions: Iterable[int], value: bytes, sequence: int = 0) -> None:
        """Open a transaction, if none is, and write to these partitions; all must take it."""
        if not self.tv2:
            assert self.add(partitions) == {E.NONE}
        assert {error for error, _ in self.produce(partitions, value, sequence)} == {E.NONE}

    @property
    def end_version(self) -> int:
        return 5 if self.tv2 else 3

    def end_fields(self, commit: bool) -> dict[str, Any]:
        return {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "committed": commit}

    def end(self, commit: bool) -> E:
        answer = self.settled(ApiKey.END_TXN, self.end_version, self.end_fields(commit))
        if answer.error_code == 0 and self.tv2:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return E(answer.error_code)


class Committed:
    """A reader of committed data that goes on where it was; the last stable offset must be at the end, or it is not to be told anything."""

    def __init__(self, partitions: Iterable[int]) -> None:
        self.positions = dict.fromkeys(partitions, 0)

    def read(self, broker: KillingBroker) -> dict[int, list[bytes]] | None:
        """partition -> what is new there; None while an open transaction holds a last stable offset back."""
        wanted = [{"partition": n, "fetch_offset": at, "partition_max_bytes": 1 << 20} for n, at in self.positions.items()]
        fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 50 << 20, "isolation_level": 1, "session_id": 0, "session_epoch": -1}
        client = Client(broker, None)
        answer = client.call(ApiKey.FETCH, 11, {**fields, "topics": [{"topic": TOPIC, "partitions": wanted}]})
        client.close()
        partitions = [partition for topic in answer.responses for partition in topic.partitions]
        assert {partition.error_code for partition in partitions} == {0}
        if any(partition.last_stable_offset < partition.high_watermark for partition in partitions):
            return None
        found: dict[int, list[bytes]] = {}
        for partition in partitions:
            aborted = [(txn.producer_id, txn.first_offset) for txn in partition.aborted_transactions or ()]
            place = partition.partition_index
            raw = memoryview(bytes(partition.records or b""))
            self.positions[place], values = visible(raw, aborted, self.positions[place])
            found[place] = [value for _, value in values]
        return found

    def read_all(self, broker: KillingBroker) -> dict[int, list[bytes]]:
        found = self.read(broker)
        assert found is not None, "the last stable offset stands still"
        return found


def create_topic(broker: KillingBroker, partitions: int) -> None:
    client = Client(broker, None)
    topics = [{"name": TOPIC, "num_partitions": partitions, "replication_factor": 1}]
    answer = client.call(ApiKey.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 20_000, "validate_only": False})
    assert {topic.error_code for topic in answer.topics} == {0}


class Rounds:
    """Rounds of one kind, each with a chance of its own, on a new directory now and then."""

    def __init__(self, folder: Path, what: str, seed: int, runs: int, tell: Callable[[str], None]) -> None:
        self.folder, self.what, self.seed, self.runs, self._tell = folder, what, seed, runs, tell
        self.overrides: dict[str, str] = {}  # settings of the broker
        self.counts: Counter[str] = Counter()

    def __call__(self, partitions: int, live: Callable[[KillingBroker, random.Random, Committed], None]) -> None:
        """`live` is one round; it may rely on the topic and on nothing being open."""
        begun = told = time.perf_counter()
        for first in range(self.seed, self.seed + self.runs, ROUNDS_PER_DIRECTORY):
            with self._broker() as broker:
                create_topic(broker, partitions)
                reader = Committed(range(partitions))
                for seed in range(first, min(first + ROUNDS_PER_DIRECTORY, self.seed + self.runs)):
                    try:
                        live(broker, random.Random(f"{self.what} {seed}"), reader)
                    except (AssertionError, ConnectionError, TimeoutError) as error:
                        repeat = f"make crash SEED={seed} RUNS=1 ARGS='-k {self.what}'"
                        raise AssertionError(
                            f"{self.what}, seed {seed}: {error}; repeat (times are never the same) with: {repeat}"
                        ) from error
                    self.counts["rounds"] += 1
                    if time.perf_counter() - told > 30:
                        told = time.perf_counter()
                        self._tell(f"{self.what}: {dict(self.counts)} {(told - begun) / self.counts['rounds']:.2f} s a round")
        self._tell(
            f"{self.what}: seeds {self.seed}..{self.seed + self.runs - 1} {dict(self.counts)} in {time.perf_counter() - begun:.0f} s"
        )

    @contextmanager
    def _broker(self) -> Iterator[KillingBroker]:
        data_dir = self.folder / "data"
        with KillingBroker(data_dir, self.overrides) as broker:
            yield broker
            broker.close_clients()
        shutil.rmtree(data_dir)

    def killed(self, how: str) -> None:
        """Count a kill by its way: "change 7" or "outside after 3 ms"."""
        self.counts[how.split()[0]] += 1
