"""`oncelog lab`: what goes wrong with exactly-once, replayed on a broker of its own, to be looked at in the console."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import App, Parameter
from oncelog.broker.commands.client.output import USAGE, Format, fail, show_json
from oncelog.broker.commands.client.wire import WireClient
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import build_batch

if TYPE_CHECKING:
    from oncelog.broker.testkit import Broker

app = App(name="lab", help="What goes wrong with exactly-once, replayed: late-end-txn.")
_TIMEOUT_MS = 900_000
_LOOK_SECONDS = 0.2


class Dialect(NamedTuple):
    """Which requests a client speaks. Up to Kafka 3.x it names partitions first; from 4.0 on each end raises the epoch (KIP-890)."""

    name: str
    what: str
    produce: int
    end_txn: int

    @property
    def adds_by_itself(self) -> bool:
        return self.produce >= 12


TV0 = Dialect("tv0", "a client of transaction version 0 (librdkafka, Java up to 3.9)", 11, 4)
TV2 = Dialect("tv2", "a client of transaction version 2 (Java 4.0)", 12, 5)


class Step(NamedTuple):
    """What the client did, or the network; and the answer."""

    what: str
    answer: str


class Outcome(NamedTuple):
    """`seen`: what a read_committed consumer gets of the second transaction, whose two halves are `debit` and `credit`."""

    dialect: Dialect
    steps: tuple[Step, ...]
    seen: tuple[str, ...]

    @property
    def verdict(self) -> str:
        if self.seen == ("debit", "credit"):
            return "fenced: the late request changed nothing"
        return "torn: the client was told that all of it is committed" if self.seen else "lost"


@app.command(name="late-end-txn")
def late_end_txn(
    *,
    port: int = 0,
    once: Annotated[bool, Parameter(negative=())] = False,
    format: Format = Format.TABLE,
) -> None:
    """Replay an EndTxn that the network held back: it ends the transaction after the one that it was meant for. Until Ctrl-C.

    Parameters
    ----------
    port
        Of the console, on 127.0.0.1; 0 picks a free one. The address is printed.
    once
        End when it is over, instead of leaving the console open.
    format
        What to print on standard output.
    """
    if not 0 <= port <= 65535:
        fail(f"--port {port}: a port is a number from 0 to 65535", USAGE)
    from oncelog.broker.testkit import Broker

    try:
        broker = Broker(control=port or True).start()
    except OSError as error:
        fail(f"port {port}: {error.strerror or error}")
    try:
        outcomes = [replay(broker, dialect) for dialect in (TV0, TV2)]
        if format is Format.JSON:
            show_json([_row(outcome) for outcome in outcomes])
        else:
            print("\n".join(line for outcome in outcomes for line in _lines(outcome)), flush=True)
        if not once:
            stopping = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda _number, _frame: stopping.set())
            print(f"Console: {broker.console_url}", flush=True)
            while not stopping.wait(_LOOK_SECONDS):  # a signal may be delivered to another thread, and is handled by this one
                pass
    except KeyboardInterrupt:
        pass
    finally:
        broker.close()


def replay(broker: Broker, dialect: Dialect) -> Outcome:
    """The same with either client: transaction 1 is aborted, its EndTxn comes a second time in the middle of transaction 2."""
    topic = f"lab-{dialect.name}"
    broker.create_topic(topic, 2)
    host, _, port = broker.bootstrap.rpartition(":")
    with WireClient(host, int(port), client_id=f"lab-{dialect.name}").connect() as client:
        producer = _Producer(client, dialect, topic)
        steps = tuple(_story(producer))
    seen = sorted((each for each in broker.records(topic) if each.value is not None), key=lambda each: each.partition)
    return Outcome(dialect, steps, tuple(bytes(each.value or b"").decode() for each in seen))


def _story(producer: _Producer) -> Iterator[Step]:
    producer.init()
    yield Step("transaction 1: a record, then EndTxn (abort). The network holds the request back", producer.write(0, "forgotten"))
    late = producer.pair
    yield Step("the client hears nothing, and sends EndTxn (abort) again, which arrives", producer.end(commit=False))
    yield Step("transaction 2 begins: debit", producer.write(0, "debit"))
    yield Step("the first EndTxn (abort) arrives now", producer.end(commit=False, pair=late, forget=True))
    yield Step("transaction 2 goes on: credit", producer.write(1, "credit"))
    yield Step("EndTxn (commit) of transaction 2", producer.end(commit=True))


class _Producer:
    """One client's requests; `pair` is what it holds."""

    def __init__(self, client: WireClient, dialect: Dialect, topic: str) -> None:
        self._client, self._dialect, self._topic = client, dialect, topic
        self._id = topic
        self._sequences: dict[tuple[int, int], int] = {}  # by partition and epoch
        self.pair = (-1, -1)

    def init(self) -> None:
        from oncelog.protocol import messages

        request = messages.InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=_TIMEOUT_MS, producer_id=-1, producer_epoch=-1
        )
        answer = self._client.send(ApiKey.INIT_PRODUCER_ID, request, max_version=5)
        self.pair = (answer.producer_id, answer.producer_epoch)

    def write(self, partition: int, value: str) -> str:
        """A record in the transaction that is open, or begins by it."""
        from oncelog.protocol import messages

        if not self._dialect.adds_by_itself:
            added = self._add(partition)
            if added is not ErrorCode.NONE:
                return added.name
        epoch = self.pair[1]
        key = (partition, epoch if self._dialect.adds_by_itself else 0)
        sequence = self._sequences.get(key, 0)
        self._sequences[key] = sequence + 1
        record = (time.time_ns() // 1_000_000, b"payment", value.encode())
        producer_id = self.pair[0]
        batch = build_batch([record], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)
        kind = messages.ProduceRequest.TopicProduceData
        part = kind.PartitionProduceData(index=partition, records=bytes(batch))
        request = messages.ProduceRequest(
            transactional_id=self._id, acks=-1, timeout_ms=10_000, topic_data=[kind(name=self._topic, partition_data=[part])]
        )
        answer = self._client.send(ApiKey.PRODUCE, request, version=self._dialect.produce)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code).name

    def _add(self, partition: int) -> ErrorCode:
        from oncelog.protocol import messages

        topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=self._topic, partitions=[partition])
        request = messages.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self.pair[0],
            v3_and_below_producer_epoch=self.pair[1],
            v3_and_below_topics=[topic],
        )
        answer = self._client.send(ApiKey.ADD_PARTITIONS_TO_TXN, request, version=3)
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def end(self, *, commit: bool, pair: tuple[int, int] | None = None, forget: bool = False) -> str:
        """`forget`: nobody waits for the answer any more."""
        from oncelog.protocol import messages

        producer_id, epoch = pair or self.pair
        request = messages.EndTxnRequest(transactional_id=self._id, producer_id=producer_id, producer_epoch=epoch, committed=commit)
        answer: Any = self._client.send(ApiKey.END_TXN, request, version=self._dialect.end_txn)
        if not forget and not answer.error_code and self._dialect.end_txn >= 5:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code).name


def _lines(outcome: Outcome) -> Iterator[str]:
    yield f"With {outcome.dialect.what}, transactional id lab-{outcome.dialect.name}:"
    for step in outcome.steps:
        yield f"  {step.answer:<16}  {step.what}"
    yield f"  read_committed sees of transaction 2: {', '.join(outcome.seen) or 'nothing'}  ->  {outcome.verdict}"
    yield ""


def _row(outcome: Outcome) -> dict[str, Any]:
    steps = [{"what": step.what, "answer": step.answer} for step in outcome.steps]
    return {"client": outcome.dialect.name, "steps": steps, "seen": list(outcome.seen), "verdict": outcome.verdict}
