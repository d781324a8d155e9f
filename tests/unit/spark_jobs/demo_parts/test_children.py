"""Children: what is said about one that failed, and when the demo starts one again or gives it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts.children import ChildError, last_words
from support.script import Script

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
