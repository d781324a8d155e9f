"""`oncelog console`: what it refuses; `wire/test_console.py` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.cli import run

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ((), 2, "give a data directory, or --bootstrap"),
        (("DIR", "--bootstrap", "127.0.0.1:1"), 2, "give a data directory, or --bootstrap"),
        (("--bootstrap", "127.0.0.1:1"), 3, "doctor"),
        (("--bootstrap", "no port:x"), 2, "HOST:PORT"),
        (("--bootstrap", "127.0.0.1:1", "--client-property", "acks=all"), 2, "NAME=VALUE"),
        (("DIR", "--port", "70000"), 2, "from 0 to 65535"),
        (("DIR/nothing",), 1, "is not a directory"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], status: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(run(["console", *(each.replace("DIR", str(tmp_path)) for each in arguments)]))
    assert (ended.value.code, told in capsys.readouterr().err) == (status, True)
