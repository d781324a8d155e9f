"""The topics of a data directory, whoever wrote it: our registry file, or Kafka's metadata log."""

from __future__ import annotations

import json
from pathlib import Path

from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.directory.topic import TOPIC_FILE, decode_topic, parse_topic_file, with_fixed_configs
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import examine, stood
from oncelog.storage.moving.kafka_topics import METADATA_LOG, KafkaTopic, MalformedMetadata, topics_from_kafka

REGISTRY = "oncelog.topics"
METADATA = "oncelog.metadata"


def read_catalogue(path: Path, findings: Findings) -> dict[str, KafkaTopic] | None:
    """Topics by name, None when the directory has no catalogue of either kind; a damaged one becomes a finding."""
    fs = OsFileSystem()
    newest, problems, _ = examine(fs, path / REGISTRY)
    for place, why in problems:
        findings.error(Kind.OWN_FILE, why, file=place.name)
    if newest is not None:
        return _topics_in(newest.payload, findings)
    try:
        topics = topics_from_kafka(path)
    except MalformedMetadata as error:
        findings.error(Kind.TOPIC_UNKNOWN, f"the metadata log cannot be read: {error}", file=METADATA_LOG)
        return None
    return {topic.name: topic for topic in topics} if topics else None


def audit_own_files(path: Path, findings: Findings) -> None:
    """Files of ours that have two copies, against their CRCs and against one another."""
    fs = OsFileSystem()
    newest, problems, _ = examine(fs, path / METADATA)
    for place, why in problems:
        findings.error(Kind.OWN_FILE, why, file=place.name)
    if newest is None and not problems and stood(fs, path / REGISTRY):
        findings.error(Kind.OWN_FILE, "missing, and so is its copy: users, access rules and broker settings", file=METADATA)
    if newest is not None and newest.generation > 0 and not problems and not stood(fs, path / REGISTRY):
        findings.error(Kind.OWN_FILE, "missing, and so is its copy: which topics there are, and their configs", file=REGISTRY)


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
