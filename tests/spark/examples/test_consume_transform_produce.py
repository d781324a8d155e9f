"""The example as its one command, against a broker."""

from __future__ import annotations

import pytest
from oncelog.spark_jobs.examples import consume_transform_produce


def test_consume_transform_produce(bootstrap: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert consume_transform_produce.main(["--bootstrap-servers", bootstrap, "--seed", str(seed)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "invoices=5000 missing=0 twice=0" in last
    assert "crashes=3" in last
