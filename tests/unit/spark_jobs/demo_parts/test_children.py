"""Children: what is said about one that failed, and when the demo starts one again or gives it up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts.chaos import STARTS_FOR_NOTHING, Chaos
from oncelog.spark_jobs.demo_parts.children import Child, ChildError, last_words
from oncelog.spark_jobs.demo_parts.patience import Watch
from oncelog.spark_jobs.demo_parts.timeline import Timeline

TRACEBACK = """26/01/31 12:00:00 WARN TaskSetManager: Lost task 0.0
Setting default log level to "WARN".
rows=12
Traceback (most recent call last):
  File "x.py", line 1, in main
    raise SessionError
oncelog.spark_jobs.session.SessionError: Spark needs Java 17 or 21; found none
26/01/31 12:00:01 WARN ShutdownHook: noise
\tat org.apache.spark.Thing(Thing.scala:1)
"""


class Script(Child):
    """A child that runs `code`."""

    def __init__(self, code: str, log: Path, on_line: Callable[[str], None] | None = None) -> None:
        super().__init__("script", log=log, on_line=on_line)
        self.command = [self.command[0], "-c", code]


def test_the_last_words_are_no_warnings() -> None:
    assert last_words(TRACEBACK.splitlines()) == "oncelog.spark_jobs.session.SessionError: Spark needs Java 17 or 21; found none"
    assert last_words(["rows=1", "", "  at x"]) == ""


def test_a_failure_says_what_why_where_and_what_to_try(tmp_path: Path) -> None:
    child = Script("import sys; print('java.io.IOException: No space left on device', file=sys.stderr); sys.exit(3)", tmp_path / "log")
    with pytest.raises(ChildError) as failed:
        child.start().finish(30)
    assert str(failed.value).splitlines() == [
        "script ended with status 3: java.io.IOException: No space left on device",
        f"  all it said: {tmp_path / 'log'}",
        "  try: free some disk, or choose another with TMPDIR or --keep.",
    ]


def test_a_child_that_is_killed_or_too_slow_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="was killed by SIGKILL"):
        Script("import os; os.kill(os.getpid(), 9)", tmp_path / "log").start().finish(30)
    slow = Script("__import__('time').sleep(99)", tmp_path / "log").start()
    with pytest.raises(ChildError, match=r"did not end within 0\.2 s"):
        slow.finish(0.2)
    assert not slow.running


def test_output_that_is_no_text_is_kept_with_escapes(tmp_path: Path) -> None:
    Script("import sys; sys.stdout.buffer.write(b'\\xff\\n')", tmp_path / "log").start().finish(30)
    assert (tmp_path / "log").read_text() == "\\xff\n"


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
