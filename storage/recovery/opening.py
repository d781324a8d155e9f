"""Opening a log: finish or undo what a crash cut off, check what cannot be trusted, keep whatever can be kept (Kafka's `LogLoader`).

After an orderly stop only the tail of the active segment is read, from its last index entry on. Otherwise every segment from the recovery
point on is checked batch by batch (`salvage.py`) and its indexes are built again. Nothing that was acknowledged is dropped silently:
cut bytes go to `quarantine-…` files, which Kafka ignores, and one line of the log says which offsets they held.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Env, FileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.files.txn_index import AbortedTxn, parse_aborted
from oncelog.storage.journal.replay import NOTHING, FoundJournal, JournaledBatches
from oncelog.storage.log import producer_snapshots
from oncelog.storage.log.flush import Flusher
from oncelog.storage.log.log import Log
from oncelog.storage.log.producer_state import ProducerState
from oncelog.storage.log.replay import read_back, state_at
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.log.segment_file import file_name
from oncelog.storage.log.swap import SWAP
from oncelog.storage.recovery.epochs import load_epochs, settle_epochs
from oncelog.storage.recovery.index_sanity import end_of_sealed, last_told, trusted_tail
from oncelog.storage.recovery.leftovers import NUMBERED, settle_leftovers
from oncelog.storage.recovery.lost_markers import markers_again
from oncelog.storage.recovery.mend import mend
from oncelog.storage.recovery.missing import Ranges, of_lost_logs, read_missing, tell_missing, within
from oncelog.storage.recovery.resuming import resume_at
from oncelog.storage.recovery.salvage import check_segment

EVERYTHING = 1 << 62  # an offset above all

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the checkpoints of the data directory say about one log; -1 for nothing.

    Records of [`known_start`, `known_end`) were acknowledged and not deleted, for certain; the other numbers may be wrong. `kept_power`:
    whatever was written is there, in order. `ours`: nothing tells that another broker has written since.
    """

    clean: bool = False
    recovery_point: int = 0
    log_start: int = 0
    high_watermark: int = -1
    known_start: int = -1
    known_end: int = -1
    kept_power: bool = False
    ours: bool = True


def open_log(
    env: Env,
    folder: Path,
    topic_partition: TopicPartition,
    topic_id: uuid.UUID,
    config: LogConfig,
    descriptors: Descriptors,
    flusher: Flusher,
    remembered: Remembered,
    syncs: list[Callable[[], None]] | None = None,
    journal: FoundJournal | None = None,
) -> Log:
    """The log in `folder`, checked as far as needed; what it lacks of `journal` is put back. Raises OSError.

    What recovered bytes need to count as durable is put into `syncs`, to be called before anybody is served, or made up for by a sync of
    the volume; without it that is done here.
    """
    fs = env.fs
    journaled = NOTHING if journal is None else journal.of(topic_id.bytes, topic_partition.partition)
    found = fs.list(folder)
    names = settle_leftovers(fs, folder, found)
    covered = producer_snapshots.drop_damaged(fs, folder, names)
    segments, orphans, lost_logs = _load_segments(env, folder, names, descriptors, config)
    lost_files = not segments and remembered.high_watermark > 0
    if not segments:
        base = max(remembered.log_start, remembered.high_watermark, 0)
        base = base if base < EVERYTHING else 0
        segments = [Segment.create(descriptors, folder, base, config.index_interval_bytes, env.clock.time_ms())]
    remembered = _bounded(remembered, segments, covered)
    epochs = LeaderEpochs(fs, folder)
    load_epochs(epochs, segments)
    known = read_missing(fs, folder)
    missing: Ranges = []
    first = remembered.log_start if lost_files and remembered.known_start < 0 else remembered.known_start
    if 0 <= first < segments[0].base_offset:
        missing.append((first, segments[0].base_offset))
    end, checked = _check(
        segments, orphans, remembered, topic_partition, known, missing, gaps_expected=config.compact, fs=fs, journaled=journaled
    )
    if not any(name.endswith(SWAP) for name in found):  # of a segment that had to give way indexes may be left
        missing += of_lost_logs(lost_logs, [segment.base_offset for segment in segments], missing)
    missing += segments[-1].lost_tail or ([(end, remembered.known_end)] if remembered.known_end > end else [])
    if remembered.known_end > end:
        resume_at(env, segments, descriptors, config, end, remembered.known_end)
        end = remembered.known_end
    elif max(remembered.high_watermark, remembered.recovery_point) > end:
        _log.warning(
            "checkpoints beyond the log end ignored partition=%s high_watermark=%d recovery_point=%d log_end=%d",
            topic_partition,
            remembered.high_watermark,
            remembered.recovery_point,
            end,
        )
    tell_missing(fs, folder, topic_partition, known, missing)
    damaged_at = max((segment.damaged_at for segment in segments if segment.damaged_at is not None), default=-1)
    ends = [entry for segment in segments for entry in segment.aborted] if damaged_at >= 0 else []
    if not remembered.clean:
        _forget_lost_ends(segments[-1], end)
        sync = _sync(env, folder, segments, remembered.recovery_point)
        if syncs is None:
            sync()
        else:
            syncs.append(sync)
    start = _log_start(segments, remembered, end, topic_partition)
    settle_epochs(epochs, segments, start, end)
    snapshots = _drop_stray_snapshots(env, folder, segments, end)
    aborted: dict[int, list[AbortedTxn]] = {}
    state = state_at(fs, folder, segments, segments[0].base_offset, end, aborted)
    if state.thin:
        read_back(state, segments)
    state.expire(env.clock.time_ms(), config.producer_id_expiration_ms)
    log = Log(
        env,
        folder,
        topic_partition,
        topic_id,
        config,
        descriptors,
        flusher,
        segments,
        state,
        epochs,
        start,
        end,
        mend,
    )
    if not remembered.clean:
        _check_txn_indexes(log, remembered.recovery_point, aborted)
    log.lost_ends = _lost_ends(log, damaged_at, ends)
    log.segments.lost_files = bool(lost_logs or missing)
    log.segments.lost_acknowledged = log.segments.lost_files or 0 <= damaged_at < (EVERYTHING if remembered.clean else _durable(remembered))
    present = (offset for offset in reversed(snapshots) if fs.exists(folder / file_name(offset, ".snapshot")))  # a damaged one went
    log.last_snapshot_offset = -1 if state.thin else next(present, -1)
    if checked or state.thin:
        log.take_snapshot()
    return log


def _bounded(remembered: Remembered, segments: list[Segment], covered: int) -> Remembered:
    """What is known of the log end: without checkpoints, that what the producers' state covers was there as well, for it is written when
    that is on disk; and numbers that nothing vouches for are not believed beyond what a segment can hold."""
    if remembered.ours:
        return remembered if remembered.known_end >= 0 else replace(remembered, known_end=covered)
    bound = segments[-1].base_offset + MAX_RELATIVE_OFFSET + 1
    return remembered if remembered.known_end <= bound else replace(remembered, known_end=-1)


def new_log(
    env: Env,
    folder: Path,
    topic_partition: TopicPartition,
    topic_id: uuid.UUID,
    config: LogConfig,
    descriptors: Descriptors,
    flusher: Flusher,
) -> Log:
    """The log of a partition that nobody wrote to: no file is touched before the first write."""
    segment = Segment.new(descriptors, folder, 0, config.index_interval_bytes, env.clock.time_ms())
    state, epochs = ProducerState(), LeaderEpochs(env.fs, folder)
    return Log(env, folder, topic_partition, topic_id, config, descriptors, flusher, [segment], state, epochs, 0, 0, mend)


# -- files


def _load_segments(
    env: Env, folder: Path, names: list[str], descriptors: Descriptors, config: LogConfig
) -> tuple[list[Segment], list[AbortedTxn], dict[int, bool]]:
    """The segments, what was aborted in those whose `.log` is gone, and where these began, with whether their indexes
    tell of records. Raises OSError."""
    fs = env.fs
    present = set(names)
    segments, orphans, orphaned, lost_logs = [], list[AbortedTxn](), list[str](), dict[int, bool]()
    for name in names:
        match = NUMBERED.fullmatch(name)
        if match is None:
            if name.endswith((".log", ".index", ".timeindex", ".txnindex", ".snapshot")):
                _log.warning("foreign file ignored folder=%s name=%s", folder, name)
            continue
        base, suffix = int(match[1]), match[2]
        if suffix == ".log":
            size = descriptors.get(f"{folder}/{name}").size()
            segments.append(Segment(descriptors, folder, base, size, config.index_interval_bytes))
        elif suffix in (".index", ".timeindex", ".txnindex") and file_name(base, ".log") not in present:
            orphaned.append(name)
            content = fs.read(folder / name)
            lost_logs[base] = lost_logs.get(base, False) or bool(content)
            if suffix == ".txnindex":
                orphans += parse_aborted(content, base) or []
            fs.unlink(folder / name)
    if orphaned:
        _log.warning("indexes without their log removed folder=%s names=%s", folder, ",".join(orphaned))
    return segments, orphans, lost_logs


def _drop_stray_snapshots(env: Env, folder: Path, segments: list[Segment], end: int) -> list[int]:
    """Beyond the log end they are wrong; between segments only the largest is of use (`removeStraySnapshots`). Those that are kept."""
    bases = {segment.base_offset for segment in segments[1:]}
    found = producer_snapshots.snapshots(env.fs, folder)
    strays = [offset for offset in found if offset not in bases and offset <= end]
    kept = []
    for offset in found:
        if offset > end or (offset in strays and offset != strays[-1]):
            producer_snapshots.discard(env.fs, folder, offset)
        else:
            kept.append(offset)
    return kept


# -- checks


def _check(
    segments: list[Segment],
    orphans: list[AbortedTxn],
    remembered: Remembered,
    topic_partition: TopicPartition,
    known: Ranges,
    missing: Ranges,
    *,
    gaps_expected: bool,
    fs: FileSystem,
    journaled: JournaledBatches,
) -> tuple[int, bool]:
    """(log end, was anything checked in full). Compaction leaves gaps, so there they mean nothing, unless the file itself tells of a loss;
    others are put into `missing`."""
    first_dirty = len(segments) - 1
    if not remembered.clean:
        point = remembered.recovery_point
        # at the point exactly begins a segment whose predecessor was perhaps not sealed yet: its indexes may be torn
        first_dirty = max((slot for slot, segment in enumerate(segments) if segment.base_offset < point), default=0)
    acknowledged = max(remembered.recovery_point, remembered.high_watermark)
    durable = _durable(remembered)
    end = segments[0].base_offset
    markers = partial(
        markers_again,
        fs,
        list(segments),
        log_end=acknowledged if remembered.clean else -1,
        others=orphans,
    )
    if not remembered.clean:
        # not beyond: a kill in the middle of a write tears a marker that nobody was told of
        markers = partial(markers, durable=acknowledged)
    for slot, segment in enumerate(segments[:first_dirty]):
        following = segments[slot + 1].base_offset
        told = last_told(segment)
        end = end_of_sealed(segment)
        if end < 0 or not (gaps_expected or end == following or within((end, following), known)):
            end = check_segment(segment, topic_partition, durable, clean=True, tail=None, markers=markers, following=following)
            segment.save_indexes(final=True)
        if segment.was_cut:
            missing += segment.lost_tail
        elif end < following and (end <= told < following or not gaps_expected):
            missing.append((end, following))
        end = following
    checked = False
    for slot, segment in list(enumerate(segments))[first_dirty:]:
        told = last_told(segment)
        tail = trusted_tail(segment) if remembered.clean else None  # after a kill both indexes are built again in any case
        behind = journaled.below(segments[slot + 1].base_offset) if slot + 1 < len(segments) else journaled
        check = partial(check_segment, segment, topic_partition, durable, clean=remembered.clean, markers=markers, journaled=behind)
        full_end, segment.lost_tail = check(tail=tail), []
        if slot + 1 == len(segments) and full_end < remembered.known_end:  # a marker that stood behind may be known
            full_end = check(tail=None, following=remembered.known_end)
        checked |= tail is None and segment.size > 0
        resumed = segments[slot + 1].base_offset if slot + 1 < len(segments) else full_end
        held = journaled is not NOTHING and not remembered.clean  # batches may have been, for the journal
        if held and resumed > full_end >= acknowledged and not any(one.size for one in segments[slot + 1 :]):
            _drop_empty(segments, slot + 1)
            end = full_end
            break
        lost = full_end <= told < resumed or segment.was_cut or not gaps_expected
        if resumed != full_end and (lost or (resumed > durable and remembered.high_watermark >= 0)):
            # the cleaner makes gaps below the high watermark of the checkpoint only
            was_lost = resumed > durable if gaps_expected and not segment.was_cut else full_end >= durable
            if not remembered.clean and was_lost:
                _set_aside(segments, slot + 1)
                end = full_end
                break
            missing.append((full_end, resumed))
        end = full_end
    return max(end, segments[-1].base_offset), checked


def _durable(remembered: Remembered) -> int:
    """Up to here everything was on disk, for certain."""
    return EVERYTHING if remembered.kept_power else max(remembered.recovery_point, remembered.high_watermark)


def _forget_lost_ends(active: Segment, end: int) -> None:
    """Markers that were written behind `end` are lost, so their transactions are open again; other records will get these offsets.
    Raises OSError."""
    kept = [entry for entry in active.aborted if entry.last_offset < end]
    if len(kept) < len(active.aborted):
        active.replace_aborted(kept)
        active.txn_index_checked = False


def _check_txn_indexes(log: Log, recovery_point: int, aborted: Mapping[int, list[AbortedTxn]]) -> None:
    """Entries behind the recovery point were perhaps not on disk. Raises OSError."""
    has_markers = any(entry.coordinator_epoch >= 0 for entry in log.producers())
    for slot, segment in enumerate(log.segments):
        sealed = slot + 1 < len(log.segments) and log.segments[slot + 1].base_offset < recovery_point
        if not sealed and (has_markers or segment.stored_aborted()):
            log.reader.check_aborted(segment, aborted.get(segment.base_offset))


def _lost_ends(log: Log, damaged_at: int, aborted: Sequence[AbortedTxn]) -> dict[int, bool]:
    """How transactions ended that look open because bytes behind their records are damaged: one that was aborted stands in the index.

    Whether they ended at all only the coordinator knows.
    """
    known = {(entry.producer_id, entry.first_offset) for entry in aborted}
    return {producer_id: (producer_id, first) not in known for producer_id, _, first in log.open_transactions() if first < damaged_at}


def _sync(env: Env, folder: Path, segments: list[Segment], recovery_point: int) -> Callable[[], None]:
    """What a killed process left in the page cache is read like the rest, but a power cut could still take it: from here on it counts
    as durable, so it has to be. Raises OSError."""
    safe = [segment for segment, following in pairwise(segments) if following.base_offset < recovery_point]
    producer_snapshots.disown(env.fs, folder, safe)
    paths = []
    for slot, segment in enumerate(segments):
        if slot < len(safe) or segment.size == 0:
            continue
        paths.append(Path(segment.log_path))
        if slot + 1 < len(segments):  # nobody will look at the indexes of a sealed segment below the recovery point
            segment.sync_indexes()
    return partial(_sync_files, env.fs, folder, paths)


def _sync_files(fs: FileSystem, folder: Path, paths: list[Path]) -> None:
    for path in paths:
        file = fs.open(path)
        try:
            file.datasync()
        finally:
            file.close()
    fs.sync_dir(folder)


def _set_aside(segments: list[Segment], slot: int) -> None:
    """Segments behind a write that a power cut lost: a sync covers all writes before it, so nobody was told that these are safe."""
    for segment in segments[slot:]:
        kept = segment.set_aside()
        _log.error("segment behind a lost write taken out segment=%s bytes=%d kept_in=%s", segment.log_path, segment.size, kept)
    del segments[slot:]


def _drop_empty(segments: list[Segment], slot: int) -> None:
    """Segments that were begun while the last batches of the one before still waited for the journal, and never got into its file.
    Raises OSError."""
    for segment in segments[slot:]:
        segment.remove()
    del segments[slot:]


def _log_start(segments: list[Segment], remembered: Remembered, end: int, topic_partition: TopicPartition) -> int:
    start = max(remembered.log_start, segments[0].base_offset)
    if start > end:
        _log.error("checkpointed log start refused partition=%s log_start=%d log_end=%d", topic_partition, start, end)
        return segments[0].base_offset
    return start
