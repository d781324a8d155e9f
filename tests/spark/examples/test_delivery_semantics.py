"""The example as its one command, against a broker."""

from __future__ import annotations

import pytest
from oncelog.spark_jobs.examples import delivery_semantics


def test_delivery_semantics(bootstrap: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert delivery_semantics.main(["--bootstrap-servers", bootstrap, "--seed", str(seed)]) == 0
    rows = {
        line.split()[0]: [int(number.replace(",", "")) for number in line.split()[1:4]] for line in capsys.readouterr().out.splitlines()[1:]
    }
    assert rows["at_most_once"][1] > 0
    assert rows["at_least_once"][2] > 0
    assert rows["exactly_once"] == [delivery_semantics.RECORDS, 0, 0]
