"""Full disks and failed syncs, where a rule says so and nowhere else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from oncelog.broker.faults.disk import DiskFaults
from oncelog.broker.faults.engine import Faults
from oncelog.storage.env import SystemClock

pytestmark = pytest.mark.unit
LOG = Path("/d/a-b-1/00000000000000000000.log")


def test_a_rule_hits_its_log_as_often_as_it_says() -> None:
    faults = Faults(SystemClock())
    disk = DiskFaults(faults)
    disk.writing(LOG, b"x")
    rule = faults.add({"match": {"topic": "a-b", "partition": 1}, "action": {"type": "disk_full"}})
    for other in (LOG.with_suffix(".index"), Path("/d/a-b-0") / LOG.name, Path("/d/meta.log"), Path("/d/a-1") / LOG.name):
        assert disk.writing(other, b"x") is None
    disk.syncing(LOG)
    with pytest.raises(OSError) as full:
        disk.writing(LOG, b"x")
    assert full.value.errno == errno.ENOSPC
    disk.writing(LOG, b"x")
    assert (rule.hits, rule.found[0].what) == (1, "a-b-1")


def test_a_sync_fails() -> None:
    faults = Faults(SystemClock())
    faults.add({"match": {}, "action": {"type": "sync_fails"}, "times": None})
    with pytest.raises(OSError) as failed:
        DiskFaults(faults).syncing(LOG)
    assert failed.value.errno == errno.EIO
