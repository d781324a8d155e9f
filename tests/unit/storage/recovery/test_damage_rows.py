"""Every row of the damages that Apache Kafka 4.3.0 was put through, after an orderly stop, after a kill, and with all recovery points lost.

Whatever was done to one partition or to the directory: the start succeeds, the other topic is there, nothing acknowledged is gone that the
damage did not hit itself, nothing aborted or open is shown, the last stable offset moves, and what is written next can be read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from oncelog.protocol.records import iter_headers, iter_records
from support.damage import Partition
from support.damage_sweep import fill_sweep
from support.txn_directory import OTHER, PLACE, TxnDirectory, fill

pytestmark = [pytest.mark.unit, pytest.mark.uncovered]
OLD, MIDDLE, ACTIVE = 0, 1, -1
COLUMNS = ["clean", "unclean", "rp 0"]
Values = set[bytes]
Row = Callable[["Place"], Values]
ROWS: dict[str, Row] = {}


class Place(Partition):
    """The partition to be damaged. What a row returns may be lost: it was hit."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir, str(PLACE))
        self.data_dir = data_dir

    def hit(self, index: int, number: int = ACTIVE) -> Values:
        """The values of one batch."""
        header = self.batches(number)[index][1]
        return set() if header.is_control else {bytes(record.value or b"") for record in iter_records(bytes(self.batch(index, number)))}

    def all_of(self, number: int) -> Values:
        return {value for index in range(len(self.batches(number))) for value in self.hit(index, number)}

    def overwrite(self, index: int, layout: str, at: int, value: int, number: int = ACTIVE) -> None:
        self.set_field(index, layout, at, value, number=number, crc=False)

    def flip(self, index: int, number: int = ACTIVE) -> Values:
        lost = self.hit(index, number)
        self.change(index, lambda batch: batch.__setitem__(65, batch[65] ^ 4), number=number, crc=False)
        return lost

    def checkpoint(self, name: str, offset: int) -> Values:
        (self.data_dir / name).write_text(f"0\n2\nr 0 {offset}\nu 0 {0 if 'log-start' in name else 10}\n")
        return set()


def row(name: str) -> Callable[[Row], Row]:
    def register(damage: Row) -> Row:
        assert name not in ROWS
        ROWS[name] = damage
        return damage

    return register


def harmless(name: str, damage: Callable[[Place], object]) -> None:
    """A row that hits no record."""

    def run(place: Place) -> Values:
        damage(place)
        return set()

    row(name)(run)


def indexes() -> None:
    garbage = bytes(range(3, 123)) * 2
    for suffix in ("index", "timeindex"):
        for where, number in (("old", OLD), ("active", ACTIVE)):
            harmless(f"{suffix} missing, {where}", lambda p, s=suffix, n=number: p.remove(s, n))
            harmless(f"{suffix} random, {where}", lambda p, s=suffix, n=number: p.file(s, n).write_bytes(garbage))
    harmless(
        "index last entry too far",
        lambda p: p.edit("index", ACTIVE, ">i", -4, struct.unpack(">i", p.file("index", -1).read_bytes()[-4:])[0] + 1000),
    )
    harmless("index 3 bytes too long", lambda p: p.file("index", -1).write_bytes(p.file("index", -1).read_bytes() + b"abc"))
    harmless("index empty", lambda p: p.file("index", -1).write_bytes(b""))
    for where, number in (("old", OLD), ("middle", MIDDLE), ("active", ACTIVE)):
        harmless(f"txnindex missing, {where}", lambda p, n=number: p.remove("txnindex", n))
        harmless(f"txnindex torn, {where}", lambda p, n=number: p.file("txnindex", n).write_bytes(p.file("txnindex", n).read_bytes()[:-10]))
        harmless(f"txnindex random, {where}", lambda p, n=number: p.file("txnindex", n).write_bytes(garbage))
        harmless(f"txnindex first offset, {where}", lambda p, n=number: p.edit("txnindex", n, ">q", 10, 10**6))
        harmless(f"txnindex last offset below the base, {where}", lambda p, n=number: p.edit("txnindex", n, ">q", 18, -1))


def tails() -> None:
    @row("last batch cut by 20 bytes")
    def cut(place: Place) -> Values:
        lost = place.hit(-1)
        path = place.file("log", -1)
        path.write_bytes(path.read_bytes()[:-20])
        return lost

    harmless("200 random bytes behind", lambda p: p.append_bytes(bytes(range(200))))
    harmless("64 zeros behind", lambda p: p.append_bytes(bytes(64)))
    harmless("last batch twice", lambda p: p.append_bytes(p.batch(-1)))
    harmless("last batch 12 times more", lambda p: p.append_bytes(p.batch(-1) * 12))
    harmless("idempotent batch twice at a new offset", lambda p: p.append(p.batch(-1)))
    harmless("last batch 400 offsets on", lambda p: p.overwrite(-1, ">q", 0, p.batches(-1)[-1][1].base_offset + 400))


def batches() -> None:
    for where, number in (("old", OLD), ("middle", MIDDLE), ("active", ACTIVE)):
        row(f"bit flip, {where}")(lambda p, n=number: p.flip(next(i for i, (_, h) in enumerate(p.batches(n)) if i and not h.is_control), n))
        row(f"bit flip in a marker, {where}")(
            lambda p, n=number: p.flip(next(i for i, (_, h) in enumerate(p.batches(n)) if h.is_control), n)
        )
    for name, layout, at, value in (
        ("leader epoch", ">i", 12, 9),
        ("magic 3", ">b", 16, 3),
        ("magic 1", ">b", 16, 1),
        ("length -5", ">i", 8, -5),
        ("length max", ">i", 8, 2**31 - 1),
        ("offset below the base", ">q", 0, 0),
        ("offset 2^40 on", ">q", 0, 1 << 40),
    ):

        @row(f"{name} in a batch")
        def field(place: Place, layout: str = layout, at: int = at, value: int = value) -> Values:
            lost = place.hit(2)
            place.overwrite(2, layout, at, value)
            return lost

    for step in (1, -1):

        @row(f"offset {step:+} in a batch")
        def shift(place: Place, step: int = step) -> Values:
            header = place.batches(-1)[2][1]
            lost = place.hit(1) | place.hit(2) | place.hit(3)  # two batches claim one offset
            place.overwrite(2, ">q", 0, header.base_offset + step)
            return lost


def files() -> None:
    @row("middle segment missing")
    def middle(place: Place) -> Values:
        lost = place.all_of(MIDDLE)
        place.remove_segment(MIDDLE)
        return lost

    @row("middle log missing")
    def middle_log(place: Place) -> Values:
        lost = place.all_of(MIDDLE)
        place.remove("log", MIDDLE)
        return lost

    @row("active segment missing")
    def active(place: Place) -> Values:
        lost = place.all_of(ACTIVE)
        place.remove_segment(ACTIVE)
        return lost

    @row("partition folder missing")
    def folder(place: Place) -> Values:
        lost = {value for number in range(len(list(place.path.glob("*.log")))) for value in place.all_of(number)}
        shutil.rmtree(place.path)
        return lost

    def spoil(path: Path, how: str) -> None:
        data = path.read_bytes()
        changed = {"flipped": data[:20] + bytes([data[20] ^ 1]) + data[21:], "empty": b"", "20 bytes longer": data + bytes(20)}
        path.unlink() if how == "missing" else path.write_bytes(changed[how])

    for how in ("flipped", "missing", "empty", "20 bytes longer"):
        harmless(f"newest snapshot {how}", lambda p, h=how: spoil(p.file("snapshot", -1), h))
    for how in ("flipped", "missing"):
        harmless(f"all snapshots {how}", lambda p, h=how: [spoil(path, h) for path in p.path.glob("*.snapshot")])
    harmless("log file of no offset", lambda p: (p.path / "x.log").write_bytes(b"?"))
    harmless("index file of no offset", lambda p: (p.path / "x.index").write_bytes(b"?"))
    harmless("snapshot file of no offset", lambda p: (p.path / "x.snapshot").write_bytes(b"?"))
    harmless("foreign file in the partition", lambda p: (p.path / "notes.txt").write_bytes(b"?"))
    harmless("foreign folder in the partition", lambda p: (p.path / "notes").mkdir())
    harmless("cleaned left over", lambda p: shutil.copy(p.file("log", 0), p.file("log", 0).with_suffix(".log.cleaned")))

    @row("swap over two segments, first one deleted")
    def swap(place: Place) -> Values:
        first, second = place.file("log", 0), place.file("log", 1)
        first.with_suffix(".log.swap").write_bytes(first.read_bytes() + second.read_bytes())
        first.rename(first.with_suffix(".log.deleted"))
        return set()


def texts() -> None:
    for name, content in (
        ("missing", None),
        ("empty", ""),
        ("with an extra line", "0\n2\n0 0\n9 999\n"),
        ("garbage", "garbage"),
        ("of a wrong count", "0\n5\n0 0\n"),
    ):
        harmless(f"leader epochs {name}", lambda p, c=content: _rewrite(p.path / "leader-epoch-checkpoint", c))
    for name, content in (
        ("missing", None),
        ("empty", ""),
        ("garbage", "garbage"),
        ("of another topic", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
    ):
        harmless(f"partition.metadata {name}", lambda p, c=content: _rewrite(p.path / "partition.metadata", c))
    for kind in ("recovery-point", "replication", "log-start", "cleaner"):
        for name, content in (("missing", None), ("garbage", "garbage"), ("empty", "")):
            file = f"{kind}-offset-checkpoint"
            harmless(f"{file} {name}", lambda p, f=file, c=content: _rewrite(p.data_dir / f, c))
    harmless("recovery point beyond the end", lambda p: p.checkpoint("recovery-point-offset-checkpoint", 5000))
    harmless("high watermark beyond the end", lambda p: p.checkpoint("replication-offset-checkpoint", 5000))
    harmless("high watermark 10", lambda p: p.checkpoint("replication-offset-checkpoint", 10))
    harmless("log start beyond the end", lambda p: p.checkpoint("log-start-offset-checkpoint", 5000))

    @row("log start 60")
    def start(place: Place) -> Values:
        place.checkpoint("log-start-offset-checkpoint", 60)
        return {
            bytes(record.value or b"")
            for path in place.path.glob("*.log")
            for position, header in iter_headers(path.read_bytes())
            if header.base_offset < 60 and not header.is_control
            for record in iter_records(path.read_bytes()[position : position + header.size_bytes])
        }


def directory() -> None:
    harmless("folder of an unknown topic", lambda p: shutil.copytree(p.path, p.data_dir / "zz-0"))
    for name in ("x", "lost+found", "my-dir-7"):
        harmless(f"foreign folder {name}", lambda p, n=name: (p.data_dir / n).mkdir())
    harmless("foreign file", lambda p: (p.data_dir / "notes.txt").write_bytes(b"?"))
    harmless("clean marker empty", lambda p: _rewrite(p.data_dir / ".kafka_cleanshutdown", "", only_if_there=True))
    harmless("meta.properties missing", lambda p: (p.data_dir / "meta.properties").unlink())


def _rewrite(path: Path, content: str | None, *, only_if_there: bool = False) -> None:
    if only_if_there and not path.exists():
        return
    path.unlink(missing_ok=True) if content is None else path.write_text(content)


for register in (indexes, tails, batches, files, texts, directory):
    register()


class Original(NamedTuple):
    """An undamaged directory and what a client sees in it."""

    path: Path
    everything: Values
    committed: Values
    of_other: list[bytes]
    now_ms: int


@pytest.fixture(scope="module", autouse=True)
def quick_disk() -> Iterator[None]:
    """Nothing here loses power, so nothing has to wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        for call in ("fsync", "fdatasync"):
            patch.setattr(os, call, lambda fd: None)
        yield


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Original]:
    """By column."""
    made = {}
    for column in COLUMNS:
        path = tmp_path_factory.mktemp("original") / "data"
        filled = fill(path)
        everything, base = set(filled.values(committed=False)), filled.log().segments.active.base_offset
        committed = {value for value in everything if value[:1] in b"pci"}
        of_other = filled.values(committed=True, place=OTHER)
        filled.logs.chores.write_checkpoints(everything=True)
        if column == "clean":
            filled.close()
        else:
            filled.kill()
            Place(path).checkpoint("recovery-point-offset-checkpoint", base)
        if column == "rp 0":
            (path / "recovery-point-offset-checkpoint").write_text("0\n0\n")
        made[column] = Original(path, everything, committed, of_other, filled.clock.now_ms)
    return made


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", ROWS)
def test_row(originals: dict[str, Original], tmp_path: Path, name: str, column: str) -> None:
    path, everything, committed, of_other, now_ms = originals[column]
    data_dir = Path(shutil.copytree(path, tmp_path / "data"))
    may_be_lost = ROWS[name](Place(data_dir))
    with contextlib.closing(TxnDirectory(data_dir, now_ms)) as served:
        assert served.values(committed=True, place=OTHER) == of_other
        assert everything - set(served.values(committed=False)) <= may_be_lost
        assert set(served.values(committed=True)) <= committed
        served.let_time_out()
        check(served, committed, may_be_lost, set())
        pair = served.init("t")
        served.put(b"n1", pair, 0, "t")
        served.end("t", pair, commit=True)
        served.put(b"n2")
        check(served, committed, may_be_lost, {b"n1", b"n2"})
    with contextlib.closing(TxnDirectory(data_dir, served.clock.now_ms)) as again:
        check(again, committed, may_be_lost, {b"n1", b"n2"})


def check(served: TxnDirectory, committed: Values, may_be_lost: Values, new: Values) -> None:
    log = served.log()
    assert log.last_stable_offset == log.log_end_offset
    seen = set(served.values(committed=True))
    assert seen <= committed | new
    assert committed - seen <= may_be_lost
    assert new <= seen


@pytest.mark.parametrize("commit", [True, False])
def test_lost_marker_of_an_id_that_went_on_elsewhere(tmp_path: Path, commit: bool) -> None:
    """The transaction log has forgotten how that transaction ended; the index of aborted ones has not."""
    data_dir = tmp_path / "data"
    filled = TxnDirectory(data_dir)
    for place in (PLACE, OTHER):
        filled.logs.create_topic(place.topic, 1)
    pair = filled.init("t")
    filled.put(b"c", pair, 0, "t")
    pair = filled.end("t", pair, commit=commit)
    filled.put(b"p")
    filled.clock.now_ms += 10
    filled.put(b"elsewhere", pair, 0, "t", OTHER)
    filled.end("t", pair, commit=True)
    filled.logs.chores.write_checkpoints(everything=True)
    filled.kill()
    (data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    assert Place(data_dir).flip(1) == set()
    with contextlib.closing(TxnDirectory(data_dir, filled.clock.now_ms)) as served:
        assert served.values(committed=True) == [b"c", b"p"][not commit :]
        log = served.log()
        assert log.last_stable_offset == log.log_end_offset


@pytest.mark.parametrize("checkpointed", [True, False])
@pytest.mark.parametrize("api_version", [4, 5])
@pytest.mark.parametrize("outcomes", ["ac", "ca", "aac", "cca"])
def test_an_active_segment_gone_with_its_indexes(tmp_path: Path, outcomes: str, api_version: int, checkpointed: bool) -> None:
    """The first transaction began in the segment before; the end of it is lost, and the newest record tells of another one."""
    data_dir = tmp_path / "data"
    filled = TxnDirectory(data_dir)
    for place in (PLACE, OTHER):
        filled.logs.create_topic(place.topic, 1)
    pair = filled.init("t")
    for number, outcome in enumerate(outcomes):
        for place in (PLACE, OTHER):
            filled.put(b"%s%d" % (outcome.encode(), number), pair, number if api_version == 4 else 0, "t", place)
        if number == 0:
            filled.log().roll(filled.clock.now_ms)
        filled.clock.now_ms += 10
        after = filled.end("t", pair, commit=outcome == "c", api_version=api_version)
        pair = after if api_version == 5 else pair
    if checkpointed:
        filled.logs.chores.write_checkpoints(everything=True)
    filled.kill()
    Place(data_dir).remove_segment(ACTIVE)
    shown = [b"%s0" % outcomes[0].encode()] if outcomes[0] == "c" else []
    for _ in range(2):
        with contextlib.closing(TxnDirectory(data_dir, filled.clock.now_ms)) as served:
            assert served.values(committed=True) == shown
            assert served.log().last_stable_offset == served.log().log_end_offset
            assert len(served.values(committed=True, place=OTHER)) == outcomes.count("c")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[Path, Values, int]]:
    """By whether it was stopped in order: four segments, in which transactions of both versions reach from one into the next."""
    made = {}
    for clean in (True, False):
        filled = fill_sweep(tmp_path_factory.mktemp("swept") / "data")
        committed = {value for value in filled.values(committed=False) if value[:1] in b"pci"}
        filled.logs.chores.write_checkpoints(everything=True)
        made[clean] = filled.data_dir, committed, filled.clock.now_ms
        filled.close() if clean else filled.kill()
        for journal in filled.data_dir.glob("oncelog.journal.*"):
            journal.unlink()
    return made


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize(
    "gone", [(), (".index", ".timeindex"), (".txnindex",), (".index", ".timeindex", ".txnindex", ".snapshot")], ids=str
)
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_segment_gone_with_more_or_less_beside_it(
    swept: dict[bool, tuple[Path, Values, int]], tmp_path: Path, number: int, gone: tuple[str, ...], clean: bool
) -> None:
    """With its index of aborted transactions nothing else is lost; without it transactions that ended there are aborted, none is shown."""
    path, committed, now_ms = swept[clean]
    data_dir = Path(shutil.copytree(path, tmp_path / "data"))
    place = Place(data_dir)
    may_be_lost = place.all_of(number)
    if ".txnindex" in gone and number:
        may_be_lost |= place.all_of(number - 1)
    log = place.file("log", number)
    for suffix in (".log", *gone):
        log.with_suffix(suffix).unlink(missing_ok=True)
    for _ in range(2):
        with contextlib.closing(TxnDirectory(data_dir, now_ms)) as served:
            served.let_time_out()
            for max_bytes in (700, 1 << 20):
                seen = set(served.values(committed=True, max_bytes=max_bytes))
                assert seen <= committed
                assert committed - seen <= may_be_lost
            assert served.log().last_stable_offset == served.log().log_end_offset
