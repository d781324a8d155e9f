"""An offset, time or transaction index that contradicts its log, or is missing, cut or padded, is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.audit.findings import Kind
from support.damage import Partition
from support.plants import Expected, Plants

plant = Plants()


@plant
def no_offset_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.remove("index", 0)
    return Kind.INDEX_MISSING, "tx-0", 0


@plant
def an_offset_index_that_points_too_far(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.edit("index", -1, ">i", -4, 15_000)
    offset = int.from_bytes(log.file("index", -1).read_bytes()[-8:-4])
    return Kind.INDEX_MISMATCH, "tx-0", log.base(-1) + offset


@plant
def an_offset_index_out_of_order(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 0)
    content = path.read_bytes()
    path.write_bytes(content[8:16] + content[:8] + content[16:])
    return Kind.INDEX_ORDER, "tx-0", int.from_bytes(content[:4])


@plant
def an_offset_index_of_odd_length(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 1)
    path.write_bytes(path.read_bytes() + b"abc")
    return Kind.INDEX_SIZE, "tx-0", log.base(1)


@plant
def a_padded_offset_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("index", 1)
    path.write_bytes(path.read_bytes() + bytes(80))
    return Kind.INDEX_PADDING, "tx-0", log.base(1)


@plant
def a_wrong_time_in_the_time_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    content = path.read_bytes()
    log.edit("timeindex", 0, ">q", 0, int.from_bytes(content[:8]) - 1)
    return Kind.TIME_INDEX_MISMATCH, "tx-0", int.from_bytes(content[8:12])


@plant
def a_time_index_out_of_order(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    content = path.read_bytes()
    path.write_bytes(content[12:24] + content[:12] + content[24:])
    return Kind.TIME_INDEX_ORDER, "tx-0", int.from_bytes(content[8:12])


@plant
def a_time_index_cut_short(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("timeindex", 0)
    path.write_bytes(path.read_bytes()[:-12])
    return Kind.TIME_INDEX_SHORT, "tx-0", 0


@plant
def no_time_index(data: Path) -> Expected:
    Partition(data, "tx-0").remove("timeindex", 0)
    return Kind.TIME_INDEX_MISSING, "tx-0", 0


@plant
def no_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    first_marker = int.from_bytes(log.file("txnindex", 1).read_bytes()[18:26])
    log.remove("txnindex", 1)
    return Kind.TXN_INDEX_MISSING, "tx-0", first_marker


@plant
def a_torn_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    path = log.file("txnindex", 1)
    path.write_bytes(path.read_bytes()[:-3])
    return Kind.TXN_INDEX_DAMAGED, "tx-0", log.base(1)


@plant
def a_transaction_index_of_another_version(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    log.edit("txnindex", 1, ">h", 34, 7)
    return Kind.TXN_INDEX_DAMAGED, "tx-0", log.base(1)


@plant
def a_transaction_index_that_hides_too_little(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 10, int.from_bytes(content[10:18]) + 1)
    return Kind.TXN_INDEX_MISSING, "tx-0", int.from_bytes(content[18:26])


@plant
def a_transaction_index_that_hides_too_much(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 10, int.from_bytes(content[10:18]) - 1)
    return Kind.TXN_INDEX_EXTRA, "tx-0", int.from_bytes(content[18:26])


@plant
def a_transaction_index_entry_that_nobody_wrote(data: Path) -> Expected:
    log = Partition(data, "plain-0")
    entry = b"\0\0" + b"".join(number.to_bytes(8) for number in (5, 3, 7, 8))
    log.file("log").with_suffix(".txnindex").write_bytes(entry)
    return Kind.TXN_INDEX_EXTRA, "plain-0", 7


@plant
def a_wrong_last_stable_offset_in_the_transaction_index(data: Path) -> Expected:
    log = Partition(data, "tx-0")
    content = log.file("txnindex", 1).read_bytes()
    log.edit("txnindex", 1, ">q", 26, int.from_bytes(content[26:34]) + 1)
    return Kind.TXN_INDEX_LSO, "tx-0", int.from_bytes(content[18:26])


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None
