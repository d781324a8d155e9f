"""Every file of a data directory × where × how: damages for a start to survive, each of one file, replayed by seed.

`fill_sweep` makes a directory with several segments and producers: plain, idempotent, transactional of both versions, one left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from oncelog.protocol.records import iter_headers, iter_records

from support.txn_directory import OTHER, PLACE, SMALL, TxnDirectory

SEALED, MIDDLE, ACTIVE = "sealed", "middle", "active"
SLOTS = {SEALED: 0, MIDDLE: 1, ACTIVE: -1}
NUMBERED = ("log", "index", "timeindex", "txnindex", "snapshot")
OF_PARTITION = ("leader-epoch-checkpoint", "partition.metadata", "oncelog.window", "oncelog.txnindexes")
OF_DIRECTORY = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
    "oncelog.topics",
    "oncelog.metadata",
    "oncelog.journal.0",
)
LEFTOVERS = tuple(f"{suffix}.{state}" for suffix in NUMBERED[:4] for state in ("swap", "cleaned", "deleted"))
JOURNAL_BYTES = 64 << 20
PLACES = ("head", "middle", "tail")
HOW = ("truncate", "zero", "flip", "cut out", "garbage")
Values = set[bytes]


class Damage(NamedTuple):
    """`file`: one of the above, numbered ones with a slot. `where` is "" when the whole file goes, or appears as a leftover."""

    file: str
    slot: str
    how: str
    where: str

    @property
    def name(self) -> str:
        return " ".join(part for part in self if part)


def damages() -> Iterator[Damage]:
    """All, in a fixed order."""
    numbered = [(suffix, slot) for suffix in NUMBERED for slot in SLOTS]
    yield from damages_of([*numbered, *((file, "") for file in (*OF_PARTITION, *OF_DIRECTORY))])
    for leftover in LEFTOVERS:
        for slot in (SEALED, MIDDLE, ACTIVE):
            yield Damage(leftover, slot, "leftover", "")


def damages_of(files: Iterable[tuple[str, str]]) -> Iterator[Damage]:
    """Of each (file, slot), everywhere and in every way."""
    for file, slot in files:
        yield Damage(file, slot, "remove", "")
        for how in HOW:
            for where in PLACES:
                yield Damage(file, slot, how, where)


def path_of(damage: Damage, data_dir: Path) -> Path:
    """The file that is hit; numbered ones by their order of offsets."""
    folder = data_dir / str(PLACE)
    if damage.how == "leftover":
        suffix, state = damage.file.split(".")
        return sorted(folder.glob("*.log"))[SLOTS[damage.slot]].with_suffix(f".{suffix}.{state}")
    if damage.slot:
        files = sorted(folder.glob(f"*.{damage.file}"))
        return files[SLOTS[damage.slot]] if len(files) > 1 else folder / f"absent.{damage.file}"
    return folder / damage.file if damage.file in OF_PARTITION else data_dir / damage.file


def inflict(damage: Damage, data_dir: Path, seed: int) -> Values | None:
    """Damage the file; the values of batches that were hit. None when there is nothing to be damaged, or it is as before."""
    random = Random(f"{damage.name} {seed}")
    path = path_of(damage, data_dir)
    if damage.how == "leftover":
        path.write_bytes(random.randbytes(300))
        return set()
    hit = altered(path, damage, random) if path.exists() else None
    if hit is None:
        return None
    return _values_in(*hit) if damage.file == "log" else set()


def altered(path: Path, damage: Damage, random: Random) -> tuple[bytes, int, int] | None:
    """Damage one file; (what it was, first byte hit, behind the last). None when it is as before."""
    before = path.read_bytes()
    begin, end, after = _changed(before, damage, random)
    if after.rstrip(b"\n") == before.rstrip(b"\n"):  # a text that ends a line earlier says the same
        return None
    path.unlink() if damage.how == "remove" else path.write_bytes(after)
    return before, begin, end


def _changed(data: bytes, damage: Damage, random: Random) -> tuple[int, int, bytes]:
    """(first byte hit, behind the last, the file afterwards)"""
    size = len(data)
    if damage.how == "remove":
        return 0, size, b""
    thirds = {"head": (0, size // 3), "middle": (size // 3, 2 * size // 3), "tail": (2 * size // 3, size)}
    low, high = thirds[damage.where]
    at = random.randrange(low, max(high, low + 1))
    count = min(random.randrange(1, 100), size - at)
    match damage.how:
        case "truncate":
            return at, size, data[:at]
        case "zero":
            return at, at + count, data[:at] + bytes(count) + data[at + count :]
        case "flip":
            return at, at + 1, data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :] if size else data
        case "cut out":
            return at, at + count, data[:at] + data[at + count :]
        case "garbage":
            return at, at + count, data[:at] + random.randbytes(count) + data[at + count :]
    raise AssertionError(damage.how)


def _values_in(log: bytes, begin: int, end: int) -> Values:
    return {
        bytes(record.value or b"")
        for position, header in iter_headers(log)
        if position < end and begin < position + header.size_bytes and not header.is_control
        for record in iter_records(log[position : position + header.size_bytes])
    }


def fill_sweep(data_dir: Path) -> TxnDirectory:
    """Four segments of plain `p`, idempotent `i`, committed `c` and aborted `a` records, and an open transaction (`o`).

    Two transactional ids: with each transaction an epoch of its own, and of the old kind, whose epoch stays.
    """
    made = TxnDirectory(data_dir, journal_bytes=JOURNAL_BYTES)
    for place in (PLACE, OTHER):
        made.logs.create_topic(place.topic, 1, dict(SMALL))
    idempotent, new, old = made.init(None), made.init("t"), made.init("s")
    filler = b"." * 30
    number = sequence = 0
    made.logs.journal.want()
    made.logs.maintenance(made.clock.now_ms)
    while len(made.log().segments) < 4 or not 1000 < made.log().active_segment.size < 1600:
        made.clock.now_ms += 7
        commit_new, commit_old = number % 3 != 1, number % 4 in (0, 3)
        made.put(b"p%02d" % number + filler)
        made.put((b"c%02dt" if commit_new else b"a%02dt") % number + filler, new, 0, "t")
        made.put((b"c%02ds" if commit_old else b"a%02ds") % number + filler, old, sequence, "s")
        made.put(b"i%02d" % number + filler, idempotent, number)
        new = made.end("t", new, commit_new)
        made.put((b"c%02dS" if commit_old else b"a%02dS") % number + filler, old, sequence + 1, "s")
        old = made.end("s", old, commit_old, api_version=4)
        sequence += 2
        made.put(b"u%02d" % number, place=OTHER)
        number += 1
    made.put(b"o" + filler, made.init("open"), 0, "open")
    for more in range(number, number + 4):
        made.put(b"i%02d" % more + filler, idempotent, more)
    assert len(made.log().segments) == 4
    return made
