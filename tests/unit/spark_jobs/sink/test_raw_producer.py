"""A task writes a partition: every record once and in order, whatever connections break, and of two attempts one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.records import check_crc, iter_records, parse_header
from oncelog.spark_jobs.sink import batch_format, raw_producer, wire
from oncelog.spark_jobs.sink.chunks import Chunk
from oncelog.spark_jobs.sink.client import BrokerError, Cluster, FencedError, NotReachedError
from oncelog.spark_jobs.sink.raw_producer import IN_FLIGHT, AnotherAttemptError, PartitionWriter, TooLargeError
from oncelog.spark_jobs.sink.transaction import ProducerIdentity
from support.sink_broker import Broker, cluster

ME = ProducerIdentity(2**40, 7)


def chunk(*values: int) -> Chunk:
    return Chunk(len(values), b"".join(batch_format.encode_record(number, None, b"%d" % value) for number, value in enumerate(values)))


class Partition(Broker):
    """One partition that knows the last five batches of a producer, as Kafka does; `chance` breaks connections before or after a write."""

    def __init__(self, chance: random.Random | None = None) -> None:
        super().__init__()
        self.values: list[int] = []
        self.batches: list[tuple[int, int]] = []  # (first, last) sequence
        self.error, self.chance, self.broken, self.open_requests, self.most = 0, chance, 0, 0, 0
        self.on[wire.PRODUCE] = [self.produce]

    def produce(self, request: Any) -> Any:
        if self.chance is not None and self.chance.random() < 0.15:
            self.broken += 1
            return self.lose()
        code = self.store(request)
        if self.chance is not None and self.chance.random() < 0.15:
            self.broken += 1
            return self.lose()
        one: Any = messages.ProduceResponse.TopicProduceResponse
        answer = one.PartitionProduceResponse(index=0, error_code=code, base_offset=len(self.values))
        return {"responses": [one(name="t", partition_responses=[answer])]}

    def lose(self) -> OSError:
        """What is in flight on the connection is lost too."""
        return ConnectionResetError("lost")

    def store(self, request: Any) -> int:
        if self.error:
            return self.error
        data = bytes(request.topic_data[0].partition_data[0].records)
        header = parse_header(data)
        assert check_crc(data)
        assert (header.producer_id, header.producer_epoch, request.transactional_id, request.acks) == (*ME, "q", -1)
        first, last = header.base_sequence, (header.base_sequence + header.records_count - 1) % 2**31
        if (first, last) in self.batches[-5:]:
            return 0
        if first != ((self.batches[-1][1] + 1) % 2**31 if self.batches else 0):
            return 45
        self.batches.append((first, last))
        self.values += [int(bytes(record.value or b"")) for record in iter_records(data)]
        return 0


@pytest.fixture
def partition() -> Partition:
    return Partition()


@pytest.fixture
def made(partition: Partition, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with cluster(partition, monkeypatch, patience=5) as (found, _):
        yield found


def writer(made: Cluster, attempt: int = 0, codec: int = 0) -> PartitionWriter:
    return PartitionWriter(made, "q", ME, "t", 0, attempt=attempt, codec=codec)


@pytest.mark.parametrize("codec", [0, batch_format.GZIP])
def test_records_in_order_and_how_much_it_was(partition: Partition, made: Cluster, codec: int) -> None:
    writing = writer(made, codec=codec)
    for start in range(0, 100, 10):
        writing.write(chunk(*range(start, start + 10)))
    written = writing.finish()
    assert partition.values == list(range(100))
    assert (written.records, written.bytes) == (
        100,
        sum(len(bytes(r.topic_data[0].partition_data[0].records)) for _, api, r in partition.asked if api == wire.PRODUCE),
    )


@pytest.mark.parametrize("attempt", range(7))
def test_the_first_batch_is_an_attempts_own(partition: Partition, made: Cluster, attempt: int) -> None:
    writing = writer(made, attempt)
    writing.write(chunk(*range(5)))
    assert writing.finish().records == 5
    assert partition.batches[0] == (0, attempt % 5)
    assert partition.values == list(range(5))


@pytest.mark.parametrize(("first", "second"), [(0, 1), (3, 4), (6, 2)])
def test_of_two_attempts_one_writes(partition: Partition, made: Cluster, first: int, second: int) -> None:
    """Though they hold the same rows."""
    one, other = writer(made, first), writer(made, second)
    one.write(chunk(*range(10)))
    with pytest.raises(AnotherAttemptError, match=r"t-0 has batches of another attempt of this task \(sequence 0 refused\)"):
        other.write(chunk(*range(10)))
    one.finish()
    other._disconnect()
    assert partition.values == list(range(10))


def test_no_more_is_in_flight_than_a_broker_remembers(partition: Partition, made: Cluster) -> None:
    writing = writer(made)
    for value in range(30):
        writing.write(chunk(value))
        assert len(writing._unacknowledged) <= IN_FLIGHT
    assert len(writing._unacknowledged) == IN_FLIGHT
    writing.finish()


@pytest.mark.parametrize("seed", range(25))
def test_lost_connections_repeat_and_lose_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition(random.Random(seed))
    with cluster(partition, monkeypatch, patience=600) as (found, _):
        writing = writer(found, attempt=seed)
        for start in range(0, 200, 4):
            writing.write(chunk(*range(start, start + 4)))
        assert writing.finish().records == 200
    assert partition.values == list(range(200))
    assert partition.broken > 3


@pytest.mark.parametrize("code", [6, 7, 3])
def test_a_leader_that_moved_is_looked_for(partition: Partition, made: Cluster, code: int) -> None:
    writing = writer(made)
    writing.write(chunk(1))
    store, errors = partition.store, [code]

    def once(request: Any) -> int:
        if errors:
            partition.topics({"t": [1]})
            return errors.pop()
        return store(request)

    partition.store = once  # type: ignore[method-assign]
    writing.write(chunk(2))
    writing.finish()
    assert partition.values == [1, 2]
    assert partition.asked[-1][0] == ("h", 9093)


@pytest.mark.parametrize(
    ("code", "error", "why"),
    [
        (47, FencedError, "t-0: INVALID_PRODUCER_EPOCH"),
        (90, FencedError, "t-0: PRODUCER_FENCED"),
        (10, TooLargeError, "raise max.message.bytes of the topic"),
        (87, BrokerError, "t-0: INVALID_RECORD"),
        (48, BrokerError, "t-0: INVALID_TXN_STATE"),
    ],
)
def test_refusals(partition: Partition, made: Cluster, code: int, error: type[Exception], why: str) -> None:
    partition.error = code
    writing = writer(made)
    with pytest.raises(error, match=why):
        writing.write(chunk(1))
    writing._disconnect()


def test_a_broker_that_stays_away(partition: Partition, made: Cluster) -> None:
    partition.down = {("h", 9092), ("h", 9093)}
    with pytest.raises(NotReachedError):
        writer(made).write(chunk(1))


def test_sequences_go_on_over_the_highest_one(partition: Partition, made: Cluster) -> None:
    writing = writer(made)
    writing.write(chunk(0))
    writing.sequence = raw_producer.SEQUENCES - 1
    partition.batches = [(2**31 - 5, 2**31 - 2)]
    writing.write(chunk(1))
    writing.write(chunk(2, 3))
    writing._acknowledge_down_to(0)
    assert partition.batches[1:] == [(2**31 - 1, 2**31 - 1), (0, 1)]
    writing._disconnect()


def test_nothing_to_write(partition: Partition, made: Cluster) -> None:
    assert writer(made).finish() == (0, 0)
    assert partition.count(wire.PRODUCE) == 0
