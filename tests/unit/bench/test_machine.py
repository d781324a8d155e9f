from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.machine import filesystem, kfake

pytestmark = pytest.mark.unit


def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/disk xfs rw 0 0\n"
    assert filesystem(mounts, Path("/tmp/disk/x")) == "xfs"
    assert filesystem(mounts, Path("/tmp/diskette")) == "tmpfs"
    assert filesystem(mounts, Path("/data/x")) == "ext4"


def test_kfake_is_told_by_its_version() -> None:
    assert kfake("module x\n\nrequire github.com/twmb/franz-go/pkg/kfake v0.0.0-20260101-abc\n") == "v0.0.0-20260101-abc"
