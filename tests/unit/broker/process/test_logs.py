"""Log lines: both forms, with exceptions."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from oncelog.broker.process import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger("oncelog")
    before = (root.handlers[:], root.propagate, root.level)
    yield
    root.handlers[:], root.propagate, root.level = before[0], before[1], before[2]


def test_text_lines_carry_level_logger_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")
    logging.getLogger("oncelog.some.room").warning("producer fenced id=%s", 7)
    logging.getLogger("oncelog.some.room").debug("not shown")
    (line,) = capsys.readouterr().err.splitlines()
    assert "warning" in line
    assert "producer fenced id=7" in line
    assert "oncelog.some.room" in line


def test_json_lines_are_objects_with_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "json")
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        logging.getLogger("oncelog.x").exception("failed")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["event"], told["level"], told["logger"]) == ("failed", "error", "oncelog.x")
    assert "RuntimeError: broken" in told["exception"]


@pytest.mark.parametrize(("level", "form"), [("loud", "text"), ("info", "xml")])
def test_wrong_levels_and_forms(level: str, form: str) -> None:
    with pytest.raises(ValueError, match=r"LOUD|xml"):
        logs.configure(level, form)
