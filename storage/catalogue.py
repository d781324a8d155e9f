"""The topics of a data directory, whoever wrote it: our registry file, or Kafka's metadata log."""

from __future__ import annotations

from pathlib import Path

from oncelog.storage.findings import Findings, Kind
from oncelog.storage.kafka_import import METADATA_LOG, KafkaTopic, MalformedMetadata, topics_from_kafka


def read_catalogue(path: Path, findings: Findings) -> dict[str, KafkaTopic] | None:
    """Topics by name, None when the directory has no catalogue of either kind; a damaged one becomes a finding."""
    try:
        topics = topics_from_kafka(path)
    except MalformedMetadata as error:
        findings.error(Kind.TOPIC_UNKNOWN, f"the metadata log cannot be read: {error}", file=METADATA_LOG)
        return None
    return {topic.name: topic for topic in topics} if topics else None
