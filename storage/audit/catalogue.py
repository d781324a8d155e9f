"""The topics of a data directory, whoever wrote it: our registry file, or Kafka's metadata log."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.raw_directory import CLEAN_MARKER, PartitionFolder
from oncelog.storage.audit.raw_formats import parse_properties, parse_snapshot
from oncelog.storage.directory.spare import SPARE_FILE
from oncelog.storage.directory.topic import TOPIC_FILE, decode_topic, parse_topic_file, with_fixed_configs
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.snapshot import decode_window
from oncelog.storage.files.twin_file import COPY, examine, parse_frame, stood
from oncelog.storage.moving.kafka_topics import METADATA_LOG, KafkaTopic, MalformedMetadata, topics_from_kafka
from oncelog.storage.recovery.doubts import DOUBTS_FILE, parse_doubts
from oncelog.storage.recovery.missing import MISSING_FILE, parse_missing

REGISTRY = "oncelog.topics"
METADATA = "oncelog.metadata"
META_PROPERTIES = "meta.properties"
IDENTITY = "identity"  # section of the former
WINDOW = "oncelog.window"
VOUCHER = "oncelog.txnindexes"
MISSING = "missing"


def read_catalogue(path: Path, findings: Findings) -> dict[str, KafkaTopic] | None:
    """Topics by name, None when the directory has no catalogue of either kind; a damaged one becomes a finding."""
    fs = OsFileSystem()
    newest, problems, _ = examine(fs, path / REGISTRY)
    for place, why in problems:
        findings.error(Kind.OWN_FILE, why, file=place.name)
    if newest is not None:
        return _topics_in(newest.payload, findings)
    if problems:
        findings.error(Kind.OWN_FILE, f"no good copy of it: {_source_of_topics(path)}", file=REGISTRY)
    try:
        topics = topics_from_kafka(path)
    except MalformedMetadata as error:
        findings.error(Kind.TOPIC_UNKNOWN, f"the metadata log cannot be read: {error}", file=METADATA_LOG)
        return None
    return {topic.name: topic for topic in topics} if topics else None


def audit_own_files(path: Path, findings: Findings) -> None:
    """Files of ours that have two copies, against their CRCs and against one another; and `meta.properties` against what they remember."""
    fs = OsFileSystem()
    newest, problems, _ = examine(fs, path / METADATA)
    for place, why in problems:
        findings.error(Kind.OWN_FILE, why, file=place.name)
    if newest is None and not problems and stood(fs, path / REGISTRY):
        findings.error(Kind.OWN_FILE, "missing, and so is its copy: users, access rules and broker settings", file=METADATA)
    if newest is not None and newest.generation > 0 and not problems and not stood(fs, path / REGISTRY):
        findings.error(Kind.OWN_FILE, f"missing, and so is its copy: {_source_of_topics(path)}", file=REGISTRY)
    if newest is not None:
        _audit_identity(path / META_PROPERTIES, newest.payload, findings)
    spare = _spare_problem(path)
    if spare == MISSING and stood(fs, path / REGISTRY) and (path / CLEAN_MARKER).exists():
        findings.note(Kind.OWN_FILE, "missing: will be made again", file=SPARE_FILE)
    elif spare is not None and spare != MISSING:
        findings.error(Kind.OWN_FILE, spare, file=SPARE_FILE)


def _source_of_topics(path: Path) -> str:
    if _spare_problem(path) is None:
        return f"topics will come from their folders and {SPARE_FILE}"
    return "topics will come from their folders, and those that nobody wrote to are lost"


def _spare_problem(path: Path) -> str | None:
    """None when it is good."""
    try:
        parse_frame(SPARE_FILE, (path / SPARE_FILE).read_bytes())
    except FileNotFoundError:
        return MISSING
    except DamagedFile as error:
        return str(error)
    return None


def _audit_identity(path: Path, payload: bytes, findings: Findings) -> None:
    """A file that cannot be read at all is reported by others."""
    try:
        kept = json.loads(payload).get(IDENTITY, {})
        found = parse_properties(path.read_bytes())
    except (OSError, ValueError, AttributeError):
        return
    wanted = {"version": "1", **kept} if kept else found
    differing = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
    if differing:
        findings.error(Kind.META_PROPERTIES, f"{','.join(differing)} not as {METADATA} remembers: will be restored", file=path.name)


def audit_beside_log(folder: PartitionFolder, findings: Findings) -> None:
    """`oncelog.window` and `oncelog.txnindexes` of a partition folder of ours: without the first the producers' batches are read again,
    without the second the markers. And what tells of damage that was settled."""
    for name, parse in ((MISSING_FILE, parse_missing), (DOUBTS_FILE, _parse_doubts), (DOUBTS_FILE + COPY, _parse_doubts)):
        if (folder.path / name).exists():
            try:
                parse((folder.path / name).read_bytes())
            except (OSError, DamagedFile) as error:
                findings.error(Kind.OWN_FILE, str(error), file=name)
    for name in (WINDOW, VOUCHER):
        path = folder.path / name
        if path.exists():
            try:
                parse_frame(name, path.read_bytes()) if name == VOUCHER else _parse_window(path.read_bytes())
            except (OSError, DamagedFile) as error:
                findings.error(Kind.OWN_FILE, str(error), file=name)
        elif (folder.path / TOPIC_FILE).exists() and _is_wanted(folder, name):
            findings.note(Kind.OWN_FILE, "missing: will be made again", file=name)


def _parse_doubts(data: bytes) -> None:
    parse_doubts(parse_frame(DOUBTS_FILE, data).payload)


def _parse_window(data: bytes) -> None:
    if decode_window(data) is None:
        raise DamagedFile("wrong CRC, or no window")


def _is_wanted(folder: PartitionFolder, name: str) -> bool:
    if name == VOUCHER:
        return len(folder.bases) > 1 and any(base < folder.bases[-1] for base in folder.offsets_of("txnindex"))
    with contextlib.suppress(DamagedFile, IndexError):
        return bool(parse_snapshot(folder.file(folder.snapshots[-1], "snapshot").read_bytes()))
    return False


def _topics_in(payload: bytes, findings: Findings) -> dict[str, KafkaTopic] | None:
    try:
        topics = [with_fixed_configs(decode_topic(row)) for row in json.loads(payload)["topics"]]
    except (ValueError, KeyError, TypeError) as error:
        findings.error(Kind.OWN_FILE, f"the topic registry cannot be read: {error}", file=REGISTRY)
        return None
    for topic in topics:
        if not topic.configs_known:
            findings.error(Kind.CONFIGS_UNKNOWN, f"configs of topic {topic.name} were lost: nothing of it is deleted before any is altered")
    return {topic.name: KafkaTopic(topic.name, topic.topic_id, topic.partitions, topic.configs) for topic in topics}


def audit_topic_file(folder: Path, topic: KafkaTopic | None, findings: Findings) -> None:
    """`oncelog.topic` of a partition folder, where there is one, against the registry."""
    path = folder / TOPIC_FILE
    if not path.exists():
        return
    try:
        _, told = parse_topic_file(path.read_bytes())
    except DamagedFile as error:
        findings.error(Kind.OWN_FILE, str(error), file=TOPIC_FILE)
        return
    if topic is not None and (told.topic_id, told.partitions, told.configs) != (topic.topic_id, topic.partitions, topic.configs):
        findings.note(Kind.OWN_FILE, "older than the registry: written again while a broker runs", file=TOPIC_FILE)
