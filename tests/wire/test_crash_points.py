"""A broker dies at each of the named points, at each transaction.version, in the test's process and in its own, and comes back whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.testkit import Broker, Process
from oncelog.broker.testkit.crash_points import POINTS
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.storage.audit.verify import verify
from support.txn_client import TV0, TV2, Client, Dialect

pytestmark = pytest.mark.wire

ID, GROUP = "payments", "workers"
PLACES = (TopicPartition("a", 0), TopicPartition("a", 1))
MOST = 300
SETTINGS = {
    "internal.log.segment.bytes": "2000",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.backoff.ms": "100",
    "transaction.state.log.num.partitions": "1",
}


class Worker:
    """Transactions one after the other, each a record for two partitions and an offset; what it was told of each."""

    def __init__(self, broker: Broker | Process, dialect: Dialect) -> None:
        self.broker, self.dialect = broker, dialect
        self.committed: list[int] = []
        self.aborted: list[int] = []
        self.unknown: list[int] = []
        self.next = 0

    def work(self, count: int) -> None:
        """Until `count` more are done, or the broker is down."""
        try:
            with Client(self.broker.bootstrap) as client:
                pair = client.init(ID)
                sequences = dict.fromkeys(PLACES, 0)
                for _ in range(count):
                    pair = self._one(client, pair, sequences)
        except (ConnectionError, RuntimeError, AssertionError) as problem:
            try:
                self.broker.wait_down(10)
            except TimeoutError:
                raise problem from None

    def _one(self, client: Client, pair: tuple[int, int], sequences: dict[TopicPartition, int]) -> tuple[int, int]:
        number, self.next = self.next, self.next + 1
        self.unknown.append(number)
        for place in PLACES:
            assert client.produce(self.dialect, ID, pair, sequences[place], place, str(number).encode()) is ErrorCode.NONE
            sequences[place] += 1
        assert client.send_offsets(self.dialect, ID, pair, GROUP, [(PLACES[0], number)]) is ErrorCode.NONE
        commit = number % 3 > 0
        code, after = client.end(self.dialect, ID, pair, commit=commit)
        assert code is ErrorCode.NONE
        self.unknown.remove(number)
        (self.committed if commit else self.aborted).append(number)
        if self.dialect.bumps_epoch:
            sequences.update(dict.fromkeys(PLACES, 0))
        self.broker.clock.advance(120)
        return after

    def check(self) -> None:
        """Nothing lost, doubled or torn, and nothing open."""
        read = self.broker.records("a")
        by_place = [[int(record.value or b"-1") for record in read if record.partition == place.partition] for place in PLACES]
        assert by_place[0] == by_place[1], "a transaction is torn"
        seen = by_place[0]
        assert len(seen) == len(set(seen)), "a record came twice"
        assert set(self.committed) <= set(seen) <= set(self.committed) | set(self.unknown)
        state = self.broker.state()
        assert state["transactions"][ID]["state"] in ("Empty", "CompleteCommit", "CompleteAbort")
        assert state["groups"][GROUP]["offsets"] == {str(PLACES[0]): seen[-1]}


# each transaction has three markers: dies behind the first, the second, the last
TIMES = [*((point, 2) for point in POINTS), ("after-marker", 1), ("after-marker", 3)]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("power", [False, True], ids=["kill", "power cut"])
@pytest.mark.parametrize(("point", "nth"), TIMES)
def test_it_comes_back_whole(point: str, nth: int, power: bool, version: int, tmp_path: Path) -> None:
    with Broker({**SETTINGS, "transaction.version": version}) as broker:
        comes_back_whole(broker, point, nth, version, tmp_path, power=power)


SLICE = [("after-prepare", 0), ("after-marker", 1), ("mid-write", 2)]  # of the next one, in daily runs


@pytest.mark.parametrize(
    ("point", "version"),
    [
        pytest.param(point, version, marks=() if (point, version) in SLICE else pytest.mark.slow)
        for point in POINTS
        for version in (0, 1, 2)
    ],
)
def test_a_process_comes_back_whole(point: str, version: int, tmp_path: Path) -> None:
    """SIGKILL at the point, on a real disk."""
    with Process(tmp_path / "data", {**SETTINGS, "transaction.version": version}) as broker:
        comes_back_whole(broker, point, 2, version, tmp_path / "saved")


def comes_back_whole(broker: Broker | Process, point: str, nth: int, version: int, folder: Path, *, power: bool = False) -> None:
    broker.create_topic("a", 2)
    worker = Worker(broker, TV2 if version == 2 else TV0)
    worker.work(4)
    broker.crash_at(point, nth)
    worker.work(MOST)
    broker.wait_down(10)
    assert not broker.is_up, f"{point} was never passed"
    if power:
        broker.power_cut()
    broker.restart()
    worker.work(3)
    worker.check()
    broker.save(folder)
    report = verify(folder)
    assert report.sound, report.errors
