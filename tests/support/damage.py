"""Damages a data directory in one precise way, for auditors and recoveries to find."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

from oncelog.protocol.records import BatchHeader, iter_headers, patch_offset, rewrite_crc

PLACES = ("head", "middle", "tail")
WAYS = ("truncate", "zero", "flip", "garbage")


def damaged(data: bytes, way: str, place: str, seed: int = 1) -> bytes:
    """`data` with a few bytes spoilt in one of `WAYS` at one of `PLACES`; always other than before, unless it is empty."""
    at = {"head": 0, "middle": len(data) // 2, "tail": max(len(data) - 1, 0)}[place]
    span = len(data[at : at + 16])
    match way:
        case "truncate":
            return data[:at]
        case "zero":
            spoilt = bytes(span)
        case "flip":
            spoilt = bytes([data[at] ^ 1]) + data[at + 1 : at + span] if span else b""
        case "garbage":
            spoilt = random.Random(seed).randbytes(span)
        case _:
            raise ValueError(way)
    return data[:at] + spoilt + data[at + span :]


class Partition:
    """The folder of one partition, with what damage needs: files by kind and number, batches of a log."""

    def __init__(self, data_dir: Path, name: str) -> None:
        self.path = data_dir / name

    def file(self, suffix: str, number: int = 0) -> Path:
        """The number-th file with that suffix; -1 is the last."""
        return sorted(self.path.glob(f"*.{suffix}"))[number]

    def base(self, number: int = 0) -> int:
        return int(self.file("log", number).stem)

    def batches(self, number: int = 0) -> list[tuple[int, BatchHeader]]:
        """(position, header) of every batch of the number-th log."""
        return list(iter_headers(self.file("log", number).read_bytes()))

    @property
    def end(self) -> int:
        return self.batches(-1)[-1][1].next_offset

    def batch(self, index: int, number: int = -1) -> bytearray:
        """The bytes of one batch."""
        position, header = self.batches(number)[index]
        return bytearray(self.file("log", number).read_bytes()[position : position + header.size_bytes])

    def change(self, index: int, change: Callable[[bytearray], None], *, number: int = -1, crc: bool = True) -> BatchHeader:
        """Change one batch in place; with `crc` its CRC is made right again. The header as it was."""
        position, header = self.batches(number)[index]
        path = self.file("log", number)
        data = bytearray(path.read_bytes())
        batch = data[position : position + header.size_bytes]
        change(batch)
        if crc:
            rewrite_crc(batch)
        data[position : position + header.size_bytes] = batch
        path.write_bytes(data)
        return header

    def set_field(self, index: int, layout: str, at: int, value: int, *, number: int = -1, crc: bool = True) -> BatchHeader:
        """Change one field of a batch header."""
        return self.change(index, lambda batch: struct.pack_into(layout, batch, at, value), number=number, crc=crc)

    def append(self, batch: bytes | bytearray) -> int:
        """Append a batch at the end of the log; its offset."""
        placed, offset = bytearray(batch), self.end
        patch_offset(placed, offset, self.batches(-1)[-1][1].partition_leader_epoch)
        self.append_bytes(placed)
        return offset

    def append_bytes(self, data: bytes | bytearray) -> None:
        with self.file("log", -1).open("ab") as out:
            out.write(data)

    def remove(self, suffix: str, number: int = 0) -> None:
        self.file(suffix, number).unlink()

    def remove_segment(self, number: int) -> None:
        for path in self.path.glob(f"{self.base(number):020d}.*"):
            path.unlink()

    def edit(self, suffix: str, number: int, layout: str, at: int, value: int) -> None:
        """Change one field of an index or snapshot; negative `at` counts from the end."""
        path = self.file(suffix, number)
        data = bytearray(path.read_bytes())
        struct.pack_into(layout, data, at if at >= 0 else len(data) + at, value)
        path.write_bytes(data)
