"""The example as its one command, against a broker."""

from __future__ import annotations

import pytest
from oncelog.spark_jobs.examples import saga


def test_saga(bootstrap: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert saga.main(["--bootstrap-servers", bootstrap, "--seed", str(seed)]) == 0
    assert "in_between=0 repeated=0" in capsys.readouterr().out
