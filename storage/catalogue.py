"""The topics of a data directory, whoever wrote it: our registry file, or Kafka's metadata log."""

from __future__ import annotations

import json
from pathlib import Path

from oncelog.protocol.primitives import uuid_from_kafka
from oncelog.storage.findings import Findings, Kind
from oncelog.storage.kafka_import import METADATA_LOG, KafkaTopic, MalformedMetadata, topics_from_kafka

REGISTRY = "oncelog.topics"


def read_catalogue(path: Path, findings: Findings) -> dict[str, KafkaTopic] | None:
    """Topics by name, None when the directory has no catalogue of either kind; a damaged one becomes a finding."""
    own = path / REGISTRY
    if own.exists():
        return _read_registry(own, findings)
    try:
        topics = topics_from_kafka(path)
    except MalformedMetadata as error:
        findings.error(Kind.TOPIC_UNKNOWN, f"the metadata log cannot be read: {error}", file=METADATA_LOG)
        return None
    return {topic.name: topic for topic in topics} if topics else None


def _read_registry(path: Path, findings: Findings) -> dict[str, KafkaTopic] | None:
    try:
        rows = json.loads(path.read_bytes())["topics"]
        topics = [KafkaTopic(row["name"], uuid_from_kafka(row["id"]), int(row["partitions"]), dict(row["configs"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        findings.error(Kind.CHECKPOINT_DAMAGED, f"the topic registry cannot be read: {error}", file=REGISTRY)
        return None
    return {topic.name: topic for topic in topics}
