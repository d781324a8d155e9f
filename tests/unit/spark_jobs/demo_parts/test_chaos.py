"""When the demo starts a child again or gives it up, when it kills, and what it counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts import chaos as module
from oncelog.spark_jobs.demo_parts.chaos import LOAD, ONCE, STARTS_FOR_NOTHING, STOCK, Chaos, Relayed
from oncelog.spark_jobs.demo_parts.children import Child, ChildError
from oncelog.spark_jobs.demo_parts.patience import Watch
from oncelog.spark_jobs.demo_parts.readback import Message, Times
from oncelog.spark_jobs.demo_parts.timeline import Timeline
from support.script import Script


@pytest.fixture
def chaos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chaos:
    monkeypatch.setattr("oncelog.spark_jobs.demo_parts.pipelines.flights.expected_departures", dict)
    return Chaos("127.0.0.1:1", None, tmp_path, "run", Timeline())


def watch(child: Child, idle: float, share: float = 1.0) -> Watch:
    return Watch(idle, sessions=lambda: child.sessions, share=lambda: share)


def test_what_fails_at_once_is_given_up_after_a_few_starts(chaos: Chaos, tmp_path: Path) -> None:
    child = Script("raise SystemExit('no such topic')", tmp_path / "log")
    with pytest.raises(ChildError, match=r"3 starts in a row brought it no further than row 0; script ended with status 1: no such topic"):
        chaos._run(child, {}, "stage", watch(child, 60))
    assert child.starts == STARTS_FOR_NOTHING


def test_what_gets_further_with_every_start_is_started_again(chaos: Chaos, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
file = Path({str(tmp_path / "at")!r})
at = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(at))
print(f"rows={{at}}", flush=True)
raise SystemExit(at < 8)
"""
    child = Script(code, tmp_path / "log", chaos._watch("stage", r"rows=(\d+)", lambda rows: None))
    chaos._run(child, {}, "stage", watch(child, 60))
    assert child.starts == 8


def test_what_is_stuck_is_killed_and_started_again(chaos: Chaos, tmp_path: Path) -> None:
    file = tmp_path / "at"
    code = f"""
from pathlib import Path
import threading
file = Path({str(file)!r})
if not file.exists():
    file.touch()
    threading.Event().wait()
"""
    child = Script(code, tmp_path / "log")
    chaos._run(child, {}, "stage", watch(child, 2))
    assert child.starts == 2
    assert "hardly any CPU time" in (tmp_path / "log").read_text()


def test_what_works_long_without_a_word_is_left_alone(chaos: Chaos, tmp_path: Path) -> None:
    child = Script("import time\nwhile time.process_time() < 3: pass", tmp_path / "log")
    chaos._run(child, {}, "stage", watch(child, 0.3, share=0.15))  # looks every 2 s whether it used 7 % of a processor
    assert child.starts == 1


def test_nothing_is_left_behind_when_the_demo_is_interrupted(chaos: Chaos, tmp_path: Path) -> None:
    working = threading.Event()
    child = Script("print('here', flush=True); __import__('threading').Event().wait()", tmp_path / "log", lambda line: working.set())

    def interrupted() -> str | None:
        if working.wait(0.01):
            raise KeyboardInterrupt
        return None

    never = watch(child, 60)
    never.stuck = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        chaos._run(child, {}, "stage", never)
    assert not child.running


def test_each_end_is_done_once_when_its_share_is_reached(chaos: Chaos, tmp_path: Path) -> None:
    """And a child that was killed on purpose may fail as often again."""
    file, done = tmp_path / "at", list[tuple[str, int]]()
    code = f"""
from pathlib import Path
import threading
file = Path({str(file)!r})
at = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(at))
print(f"rows={{at * 30}}", flush=True)
at < 4 and threading.Event().wait()
"""
    child = Script(code, tmp_path / "log", chaos._watch("stage", r"rows=(\d+)", lambda rows: None))
    chaos.rows = 100

    def kill(what: str) -> Callable[[], None]:
        def now() -> None:
            done.append((what, chaos._reached("stage")))
            chaos._kill(child, what)

        return now

    chaos._run(child, {0.6: kill("late"), 0.25: kill("early"), 0.9: kill("last")}, "stage", watch(child, 60))
    assert done == [("early", 30), ("late", 60), ("last", 90)]
    assert chaos.timeline.kill_counts() == {"early": 1, "late": 1, "last": 1}
    assert child.starts == 4


@pytest.mark.parametrize(("add", "expected"), [(False, [5, 7]), (True, [5, 12])])
def test_lines_tell_how_many_rows_it_was_or_how_many_more(chaos: Chaos, add: bool, expected: list[int]) -> None:
    told: list[int] = []
    line = chaos._watch("stage", r"rows=(\d+)", told.append, add=add)
    for text in ("rows=5", "noise", " rows=6", "rows=7 and more"):
        line(text)
    assert told == [rows for _, rows in chaos.timeline.rows["stage"]] == expected
    assert chaos._reached("stage") == expected[-1]
    assert chaos._reached("another") == 0


class Killed:
    """A broker or child that is told to go."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.running = True

    def kill(self) -> None:
        self.calls.append("kill")
        self.running = False

    def start(self) -> None:
        self.calls.append("start")


def test_a_broker_of_somebody_else_is_left_alone(chaos: Chaos) -> None:
    chaos._kill_broker()
    assert chaos.timeline.kills == []
    ours = Killed()
    chaos.broker = ours  # type: ignore[assignment]
    chaos._kill_broker()
    assert (ours.calls, chaos.timeline.kill_counts()) == (["kill", "start"], {"broker": 1})


def test_a_driver_is_killed_when_more_is_written_than_its_batches_account_for(chaos: Chaos, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [[], [1_000, 1_000], [1_500, 1_500], [1_500, 1_501]]
    asked: list[list[int]] = []

    @contextmanager
    def told(_topic: str) -> Iterator[Callable[[], list[int]]]:
        def answer() -> list[int]:
            asked.append(ends[len(asked)])
            return asked[-1]

        yield answer

    monkeypatch.setattr(chaos, "_end_offsets", told)
    chaos.timeline.reached(ONCE, 1_000)
    child = Killed()
    chaos._kill_in_batch(child, ONCE, "t")  # type: ignore[arg-type]
    assert asked == ends
    assert (child.calls, chaos.timeline.kill_counts()) == (["kill"], {"Spark driver": 1})


def test_every_row_is_counted_in_each_topic(chaos: Chaos, monkeypatch: pytest.MonkeyPatch) -> None:
    chaos.rows = 3
    rows = {chaos.flights.topic: [0, 1, 2], chaos.once: [0, 1, 2], chaos.stock: [0, 1, 1]}

    def read(_bootstrap: str, topic: str, *, committed: bool = True) -> Iterator[Message]:
        for row in rows[topic] + ([] if committed else [2] * 5 if topic == chaos.once else []):
            yield Message(0, 0, None, b'{"row": %d}' % row)

    monkeypatch.setattr(module, "read_all", read)
    assert chaos.relayed() == [Relayed(LOAD, Times(3, 0, 0), 0), Relayed(ONCE, Times(3, 0, 0), 5), Relayed(STOCK, Times(3, 1, 1), 0)]
