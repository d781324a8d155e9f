"""A draft of a segment reads as the segment will; until it is published, the segment's files are as they were."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.txn_index import AbortedTxn, parse_aborted
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_draft import DRAFT, MendingAbandoned, SegmentDraft
from support.storage_kit import T0, Kit

pytestmark = pytest.mark.unit


def sealed(tmp_path: Path) -> tuple[Kit, Segment, bytes]:
    kit = Kit(tmp_path)
    log = kit.create()
    for _ in range(10):
        kit.append(n=2)
    log.roll(T0)
    return kit, log.segments[0], Path(log.segments[0].log_path).read_bytes()


def draft_of(segment: Segment) -> SegmentDraft:
    return SegmentDraft(segment, Descriptors(segment.descriptors.fs, 2), Event())


def files(segment: Segment) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in segment.folder.iterdir()}


def test_fixes_are_read_at_once_and_written_when_published(tmp_path: Path) -> None:
    _, segment, content = sealed(tmp_path)
    before, draft = files(segment), draft_of(segment)
    draft.overwrite(100, b"abcdef")
    draft.overwrite(200, b"gh")
    right = bytearray(content)
    right[100:106], right[200:202] = b"abcdef", b"gh"
    for begin in (*range(90, 110), 199, 200, 201, 202):
        for end in range(begin + 1, begin + 12):
            assert draft.read_at(begin, end - begin) == right[begin:end]
    assert draft.read_at(0, draft.size) == right
    assert files(segment) == before
    assert draft.publish().read_at(0, 10_000) == right
    assert Path(segment.log_path).read_bytes() == right


def test_pieces_become_another_file(tmp_path: Path) -> None:
    kit, segment, content = sealed(tmp_path)
    before, draft = files(segment), draft_of(segment)
    draft.rewrite([(0, 100), b"between", (150, 160)])
    right = content[:100] + b"between" + content[150:160]
    assert draft.read_at(0, 1000) == right
    assert {name: data for name, data in files(segment).items() if not name.endswith(DRAFT)} == before
    mended = draft.publish()
    assert (mended.size, mended.read_at(0, 1000), mended.log_path) == (len(right), right, segment.log_path)
    assert draft.replaced is not None
    assert draft.replaced.pread(10_000, 0) == content
    draft.replaced.close()
    assert files(segment).keys() == before.keys()
    assert kit.log.segments[0] is segment


def test_a_cut_is_made_when_it_is_published(tmp_path: Path) -> None:
    _, segment, content = sealed(tmp_path)
    draft = draft_of(segment)
    draft.cut(300)
    assert draft.differs
    assert Path(segment.log_path).read_bytes() == content
    assert draft.publish().size == 300
    assert Path(segment.log_path).read_bytes() == content[:300]


def test_what_is_thrown_away_leaves_nothing(tmp_path: Path) -> None:
    _, segment, _ = sealed(tmp_path)
    before, draft = files(segment), draft_of(segment)
    assert not draft.differs
    draft.index_headers()
    draft.save_indexes(final=True, sync=True)
    draft.replace_aborted([AbortedTxn(1, 2, 3, 4)])
    draft.rewrite([(0, 100)])
    assert files(segment) != before
    draft.discard()
    assert files(segment) == before


def test_aborted_transactions(tmp_path: Path) -> None:
    _, segment, _ = sealed(tmp_path)
    entry = AbortedTxn(1, 2, 3, 4)
    for entries in ([entry], []):
        draft = draft_of(segment)
        draft.replace_aborted(entries)
        segment = draft.publish()
        assert (parse_aborted(segment.stored_aborted(), 0), segment.aborted) == (entries, entries)
        assert segment.path(".txnindex").exists() == bool(entries)


def test_what_is_abandoned_reads_no_more(tmp_path: Path) -> None:
    _, segment, _ = sealed(tmp_path)
    abandoned = Event()
    draft = SegmentDraft(segment, Descriptors(segment.descriptors.fs, 2), abandoned)
    assert draft.read_at(0, 10)
    abandoned.set()
    with pytest.raises(MendingAbandoned):
        draft.index_headers()


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    _, segment, content = sealed(tmp_path)
    with Path(segment.log_path).open("r+b") as file:
        file.truncate(500)
    draft = draft_of(segment)
    draft.settle_size()
    assert (draft.size, draft.read_at(0, 10_000)) == (500, content[:500])
