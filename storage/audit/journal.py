"""The journal of a directory that was not stopped in an orderly way: what the next start will put back into the logs."""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.raw_directory import DataDirectory
from oncelog.storage.env import OsFileSystem
from oncelog.storage.journal.journal import JOURNAL_FILES
from oncelog.storage.journal.replay import FoundJournal, read_journal
from oncelog.storage.moving.kafka_topics import KafkaTopic


class AuditedJournal:
    """Of the topics that there are; holds nothing after an orderly stop, when it does not count."""

    def __init__(self, directory: DataDirectory, topics: Mapping[str, KafkaTopic] | None) -> None:
        self._topics = topics or {}
        self.found = FoundJournal({}) if directory.clean else read_journal(OsFileSystem(), directory.path)

    def log_end(self, topic: str, partition: int, log_end: int) -> int:
        """Where the log will end that now ends at `log_end`."""
        known = self._topics.get(topic)
        return log_end if known is None else self.found.of(known.topic_id.bytes, partition).reach(log_end)


def audit_journal(directory: DataDirectory, topics: Mapping[str, KafkaTopic] | None, findings: Findings) -> AuditedJournal:
    journal = AuditedJournal(directory, topics)
    present = [name for name in JOURNAL_FILES if name in directory.names]
    if directory.clean and present:
        findings.note(Kind.JOURNAL, "left over: does not count after an orderly stop", file=present[0])
    if journal.found.damaged:
        told = ",".join(journal.found.damaged)
        findings.error(Kind.JOURNAL, f"frames {told} are damaged: of what they held the logs keep what they have", file=present[0])
    if len(journal.found):
        message = f"holds {len(journal.found)} batches: what the logs lack of them will be put back at the next start"
        findings.note(Kind.JOURNAL, message, file=present[0])
    return journal
