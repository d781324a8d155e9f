"""kill -9 inside EndTxn, at a chosen write, fdatasync or rename, over 400 partitions; and what clients may rely on after any kill."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.records import build_batch, iter_headers, iter_records
from support import killing_serve
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.wire import Connection

PARTITIONS = 400
TOPIC = "t"
TIMEOUT_MS = 10_000
BUSY = {E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_ENOUGH_REPLICAS}


class KillingBroker(BrokerProcess):
    """Dies at the Nth change of the disk after `arm(N)`."""

    launcher = (killing_serve.__file__,)

    def __init__(self, data_dir: Path) -> None:
        self.kill_file = data_dir.parent / "kill-at"
        self.clients: list[Client] = []
        super().__init__(data_dir, env={killing_serve.KILL_FILE: str(self.kill_file)})

    def arm(self, nth: int) -> None:
        draft = self.kill_file.with_suffix(".new")
        draft.write_text(str(nth))
        draft.rename(self.kill_file)

    def revive(self) -> None:
        """Wait for its death when it is due, see to it otherwise, and start it again."""
        self.kill()
        self.kill_file.unlink(missing_ok=True)
        self.start()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KillingBroker]:
    with KillingBroker(tmp_path / "data") as process:
        yield process
        for client in process.clients:
            client.close()


class Client:
    """A raw transactional producer; `tv2`: adds partitions by Produce v12 and ends with EndTxn v5."""

    def __init__(self, broker: KillingBroker, transactional_id: str | None, *, tv2: bool = True) -> None:
        self.broker = broker
        self.id = transactional_id
        self.tv2 = tv2
        self.pair = (-1, -1)
        self._connection: Connection | None = None
        broker.clients.append(self)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def call(self, key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
        """The answer; ConnectionError when the broker dies before it."""
        if self._connection is None:
            self._connection = Connection(self.broker.bootstrap, timeout=30)
        message = build(getattr(messages, f"{key.schema_name}Request"), fields)
        try:
            correlation_id = self._connection.send(key, version, bytes(messages.encode_request(key, version, message)))
            return self._connection.receive(key, version, correlation_id)
        except (OSError, AssertionError) as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def settled(self, key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
        """The first answer that is not "try again"."""

        def ask() -> Any:
            answer = self.call(key, version, fields)
            return None if E(answer.error_code) in BUSY else answer

        return wait_until(ask, 30, key.name)

    def init(self) -> E:
        fields = {"transactional_id": self.id, "transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}
        answer = self.settled(ApiKey.INIT_PRODUCER_ID, 5, fields)
        self.pair = (answer.producer_id, answer.producer_epoch)
        return E(answer.error_code)

    def add(self, partitions: range) -> None:
        producer = {"v3_and_below_transactional_id": self.id, "v3_and_below_producer_id": self.pair[0]}
        topics = [{"name": TOPIC, "partitions": list(partitions)}]
        answer = self.call(
            ApiKey.ADD_PARTITIONS_TO_TXN, 3, {**producer, "v3_and_below_producer_epoch": self.pair[1], "v3_and_below_topics": topics}
        )
        assert {p.partition_error_code for t in answer.results_by_topic_v3_and_below for p in t.results_by_partition} == {0}

    def produce(self, partitions: range, value: bytes, sequence: int, pair: tuple[int, int] | None = None) -> list[tuple[E, int]]:
        """(error, base offset) of each partition."""
        producer_id, epoch = pair or self.pair
        batch = build_batch(
            [(int(time.time() * 1000), None, value)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=self.id is not None,
        )
        data = [{"index": n, "records": bytes(batch)} for n in partitions]
        fields = {"transactional_id": self.id, "acks": -1, "timeout_ms": 5000, "topic_data": [{"name": TOPIC, "partition_data": data}]}
        answer = self.call(ApiKey.PRODUCE, 12 if self.tv2 else 11, fields)
        return [(E(p.error_code), p.base_offset) for t in answer.responses for p in t.partition_responses]

    def end(self, commit: bool) -> Any:
        fields = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "committed": commit}
        return self.settled(ApiKey.END_TXN, 5 if self.tv2 else 3, fields)

    def committed(self, partitions: range) -> dict[int, list[bytes]]:
        """partition -> values that a reader of committed data sees, from the beginning."""
        seen: dict[int, list[bytes]] = {}
        wanted = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for n in partitions]
        fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 50 << 20, "isolation_level": 1, "session_id": 0, "session_epoch": -1}
        answer = self.call(ApiKey.FETCH, 11, {**fields, "topics": [{"topic": TOPIC, "partitions": wanted}]})
        for partition in (p for t in answer.responses for p in t.partitions):
            assert partition.error_code == 0
            assert partition.last_stable_offset == partition.high_watermark, "the last stable offset stands still"
            seen[partition.partition_index] = list(self._visible(partition))
        return seen

    def _visible(self, partition: Any) -> Iterator[bytes]:
        aborted = sorted((txn.first_offset, txn.producer_id) for txn in partition.aborted_transactions or [])
        dropped: set[int] = set()
        raw = memoryview(bytes(partition.records or b""))
        for position, header in iter_headers(raw):
            while aborted and aborted[0][0] <= header.last_offset:
                dropped.add(aborted.pop(0)[1])
            if header.is_control:
                dropped.discard(header.producer_id)
            elif header.producer_id not in dropped:
                for record in iter_records(raw[position : position + header.size_bytes]):
                    yield bytes(record.value or b"")


def create_topic(broker: KillingBroker, partitions: int) -> None:
    client = Client(broker, None)
    topics = [{"name": TOPIC, "num_partitions": partitions, "replication_factor": 1}]
    answer = client.call(ApiKey.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 20_000, "validate_only": False})
    assert {topic.error_code for topic in answer.topics} == {0}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("tv2", [False, True])
def test_a_kill_inside_end_txn_leaves_all_or_nothing(broker: KillingBroker, runs: int | None, seed: int, tv2: bool) -> None:
    """The client asks again after the restart: it is told what it was promised, and all 400 partitions agree."""
    chance = random.Random(seed)
    everywhere = range(PARTITIONS)
    create_topic(broker, PARTITIONS)
    expected: list[bytes] = []
    deaths = 0
    for run in range(runs or 5):
        client = Client(broker, "t", tv2=tv2)
        assert client.init() is E.NONE
        if not tv2:
            client.add(everywhere)
        value = b"run %d" % run
        assert {error for error, _ in client.produce(everywhere, value, 0)} == {E.NONE}
        commit = chance.random() < 0.7
        broker.arm(chance.randrange(1, 2 * PARTITIONS + 6))
        try:
            answer = client.end(commit)
        except ConnectionError:
            deaths += 1
            broker.revive()
            answer = client.end(commit)
        assert E(answer.error_code) is E.NONE
        if commit:
            expected.append(value)
        broker.revive()
        assert reconnected(client).committed(everywhere) == dict.fromkeys(everywhere, expected)
    print(f"seed={seed} tv2={tv2} runs={runs or 5} killed inside EndTxn={deaths} torn=0 lost=0")


def test_last_five_batches_are_known_after_a_kill(broker: KillingBroker, runs: int | None) -> None:
    create_topic(broker, 1)
    client = Client(broker, None, tv2=False)
    assert client.init() is E.NONE
    for run in range(runs or 3):
        first = run * 7
        answers = [client.produce(range(1), b"%d" % n, n) for n in range(first, first + 7)]
        assert {error for [(error, _)] in answers} == {E.NONE}
        broker.kill()
        broker.start()
        client = reconnected(client)
        assert [client.produce(range(1), b"%d" % n, n) for n in range(first + 2, first + 7)] == answers[2:]
    values = client.committed(range(1))[0]
    assert values == [b"%d" % n for n in range(7 * (runs or 3))]


def reconnected(client: Client) -> Client:
    again = Client(client.broker, client.id, tv2=client.tv2)
    again.pair = client.pair
    return again


def test_a_stale_epoch_stays_fenced_after_a_kill(broker: KillingBroker, runs: int | None) -> None:
    create_topic(broker, 1)
    for run in range(runs or 3):
        zombie, heir = Client(broker, "z"), Client(broker, "z")
        assert zombie.init() is E.NONE
        zombie.produce(range(1), b"zombie", 0)
        assert heir.init() is E.NONE
        broker.kill()
        broker.start()
        zombie, heir = reconnected(zombie), reconnected(heir)
        assert E(zombie.end(True).error_code) in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
        assert zombie.produce(range(1), b"zombie", 1)[0][0] is E.INVALID_PRODUCER_EPOCH
        assert heir.produce(range(1), b"heir", 0)[0][0] is E.NONE
        assert E(heir.end(True).error_code) is E.NONE
        assert heir.committed(range(1))[0] == [b"heir"] * (run + 1)


def test_an_open_transaction_hides_later_commits_for_its_timeout_only(broker: KillingBroker) -> None:
    create_topic(broker, 1)
    idler, worker = Client(broker, "idler"), Client(broker, "worker")
    assert idler.init() is E.NONE
    assert worker.init() is E.NONE
    assert idler.produce(range(1), b"open", 0)[0][0] is E.NONE
    assert worker.produce(range(1), b"done", 0)[0][0] is E.NONE
    assert E(worker.end(True).error_code) is E.NONE
    broker.kill()
    broker.start()
    reader = Client(broker, None)

    def visible() -> bool:
        try:
            return reader.committed(range(1))[0] == [b"done"]
        except (AssertionError, ConnectionError):
            return False

    wait_until(visible, TIMEOUT_MS / 1000 + 10, "the end of the open transaction")
