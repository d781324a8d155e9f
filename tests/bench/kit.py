"""What the test kit costs: `python -m tests.bench.kit`.

A fresh broker, a reset, tests with a broker each (confluent-kafka: records, a transaction, a consumer), a quarter of an hour, a session and
a week that pass, requests while the control port is open. Medians; processor time beside the clock's, as others may use the machine.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from oncelog.broker.testkit import Broker, assert_exactly_once, assert_no_open_transactions
from oncelog.broker.testkit.over_wire import OverWire

from tests.bench import load
from tests.support.process import BrokerProcess

QUICK = {"linger.ms": 0, "socket.nagle.disable": True}
PATIENCE = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=200, help="isolated tests, a broker each")
    parser.add_argument("--workers", type=int, default=8, help="tests at a time")
    parser.add_argument("--repeat", type=int, default=30, help="of everything else")
    asked = parser.parse_args()
    starts(asked.repeat)
    moved_time(asked.repeat)
    isolated(asked.tests, asked.workers)
    control_port(asked.repeat)


def told(what: str, count: int, once: Callable[[], None]) -> None:
    clock, processor = [], []
    for _ in range(count):
        begin, begin_processor = time.perf_counter(), time.process_time()
        once()
        clock.append(1000 * (time.perf_counter() - begin))
        processor.append(1000 * (time.process_time() - begin_processor))
    print(f"{what:44} {statistics.median(clock):8.1f} ms {statistics.median(processor):8.1f} ms of processor time", flush=True)


def starts(count: int) -> None:
    brokers: list[Broker] = []
    told("a fresh broker is ready", count, lambda: brokers.append(Broker().start()))
    for broker in brokers:
        broker.close()
    with Broker() as broker:
        told("a reset, of nothing", count, broker.reset)

        def used() -> None:
            committed(broker, "a")

        for _ in range(3):
            used()
            told("a reset, of topics, a group, a transaction", 1, broker.reset)


def moved_time(count: int) -> None:
    """Each with a stock librdkafka at the other end where it needs one; only the moving is timed."""
    with Broker() as broker:
        settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "transaction.timeout.ms": 900_000, **QUICK}
        producer = Producer(settings)
        producer.init_transactions(PATIENCE)

        def quarter_of_an_hour() -> None:
            broker.clock.advance(901)

        for _ in range(3):
            producer.begin_transaction()
            producer.produce("a", b"x")
            producer.flush(PATIENCE)
            told("15 minutes: a transaction times out", 1, quarter_of_an_hour)
            assert_no_open_transactions(broker)
            try:
                producer.commit_transaction(PATIENCE)
            except KafkaException:
                producer = Producer(settings)
                producer.init_transactions(PATIENCE)
            else:
                raise AssertionError("the transaction was to time out")
        del producer
    with Broker() as broker:
        broker.create_topic("a")
        for _ in range(3):
            consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "session.timeout.ms": 45_000})
            consumer.subscribe(["a"])
            while not consumer.assignment():
                consumer.poll(0.05)
            hold = broker.faults.add(api="Heartbeat", group="g", action="hold", times=None)
            told("45 seconds: a session times out", 1, lambda: broker.clock.advance(46) and None)
            assert broker.state()["groups"]["g"]["members"] == []
            hold.remove()
            consumer.close()
    with Broker({"internal.log.segment.bytes": 200}) as broker:
        for _ in range(3):
            broker.create_topic("a")
            producer = Producer({"bootstrap.servers": broker.bootstrap, **QUICK})
            for number in range(5):
                producer.produce("a", b"%d" % number)
                producer.flush(PATIENCE)
            assert len(broker.records("a")) == 5
            told("7 days: retention", 1, lambda: broker.clock.advance(8 * 86_400) and None)
            assert len(broker.records("a")) < 2
            broker.reset()


def committed(broker: Broker, topic: str) -> None:
    """Records, a transaction, a consumer: what a test does."""
    broker.create_topic(topic)
    plain = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, **QUICK})
    plain.produce(topic, b"plain")
    assert plain.flush(PATIENCE) == 0
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t", **QUICK})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    producer.commit_transaction(PATIENCE)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 10})
    consumer.assign([TopicPartition(topic, 0, 0)])
    got: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(got) < 11:
        assert time.monotonic() < deadline, got
        got += [message.value() for message in consumer.consume(11, 0.5) if message.error() is None]
    consumer.commit(offsets=[TopicPartition(topic, 0, 12)], asynchronous=False)
    consumer.close()
    assert_exactly_once(got, topic, [b"plain", *(b"%d" % number for number in range(10))])
    assert_no_open_transactions(broker)


def isolated(count: int, workers: int) -> None:
    """As pytest runs them, but for pytest: a broker for each."""
    done = threading.Semaphore(0)

    def test() -> None:
        with Broker() as broker:
            committed(broker, "a")
        done.release()

    test()
    begin, begin_processor = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(test) for _ in range(count)]:
            future.result()
    took, processor = time.perf_counter() - begin, time.process_time() - begin_processor
    rate = f"{60 * count / took:.0f} a minute, {workers} at a time, on a machine that others may use"
    print(f"isolated tests, a fresh broker each: {1000 * processor / count:.1f} ms of processor time each; {rate}")


# -- requests while the control port is open, and no rule is armed


def control_port(rounds: int) -> None:
    """Two processes, asked in turn; processor time of the broker's loop alone."""
    frames = {
        "small Produce": (load.produce_frame("a", range(1), load.batch(100), 1), 2000, 20),
        "Produce of 256 KiB": (load.produce_frame("a", range(1), load.batch(1024, 256), 1), 60, 2),
        "small Fetch": (load.fetch_frame("a", 0, max_bytes=100), 2000, 20),
    }
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder, ExitStack() as ending:
        ports, pids = [], []
        for name, options in (("plain", ()), ("controlled", ("--control", "0"))):
            process = BrokerProcess(Path(folder) / name)
            process.arguments = options
            ending.enter_context(process)
            OverWire(process.bootstrap).create_topic("a", 1, {})
            ports.append(process.port)
            pids.append(process.pid)
        for what, (frame, count, depth) in frames.items():
            costs: list[list[float]] = [[], []]
            for turn in range(rounds + 1):
                for which in (0, 1) if turn % 2 else (1, 0):
                    before = _processor_us(pids[which])
                    _ask(ports[which], frame, count, depth)
                    if turn:
                        costs[which].append((_processor_us(pids[which]) - before) / count)
            plain, open_ = map(statistics.median, costs)
            pairs = statistics.median(after / before for before, after in zip(*costs, strict=True))
            print(
                f"{what}: {plain:.2f} us of processor time, {open_:.2f} with the control port open; of pairs {pairs - 1:+.1%}", flush=True
            )


def _processor_us(pid: int) -> float:
    """Of the thread that serves: how often the others sync goes by what else the machine does."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1000


def _ask(port: int, frame: bytes, count: int, depth: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 30) as client, client.makefile("rb", 1 << 16) as answers:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count // depth):
            client.sendall(frame * depth)
            for _ in range(depth):
                answers.read(int.from_bytes(answers.read(4), "big"))


if __name__ == "__main__":
    main()
