"""A slice of kills.py: one seed, one kill; `make spark` runs more."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("kills", Path(__file__).with_name("kills.py"))
assert spec is not None
assert spec.loader is not None
kills = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kills)


@pytest.mark.timeout(400)
def test_a_killed_driver_neither_loses_nor_repeats(bootstrap: str, seed: int, tmp_path: Path) -> None:
    counted = kills.run(bootstrap, seed, 1, tmp_path)
    print(f"seed={seed} {counted}")
    assert counted["exactly-once"].exactly_once
    assert not counted["stock"].missing
