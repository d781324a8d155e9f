"""What an audit can find: kinds, severities and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """ERROR: something is lost, wrong or stuck. NOTE: legitimate, and worth knowing."""

    ERROR = "error"
    NOTE = "note"


class Kind(StrEnum):
    """One name per kind of damage; the comment beside each is what it means."""

    # bytes of a .log
    TORN_TAIL = "torn-tail"  # the last batch is not whole
    LOG_GARBAGE = "log-garbage"  # bytes that are no batch
    BATCH_CRC = "batch-crc"
    BATCH_RECORDS = "batch-records"  # the records do not parse, or contradict the header
    BATCH_TIMESTAMP = "batch-timestamp"  # maxTimestamp is not the largest timestamp of the records
    OFFSET_ORDER = "offset-order"  # an offset that is not above the one before
    OFFSET_BASE = "offset-base"  # a batch outside its segment's range
    OFFSET_GAP = "offset-gap"  # offsets missing in a log that is not compacted
    EPOCH_ORDER = "epoch-order"  # leader epochs fall
    SEGMENT_MISSING = "segment-missing"
    SEGMENT_OVERLAP = "segment-overlap"
    # indexes
    INDEX_MISSING = "index-missing"
    INDEX_SIZE = "index-size"  # not a multiple of the entry
    INDEX_MISMATCH = "index-mismatch"  # an entry contradicts the log
    INDEX_ORDER = "index-order"
    INDEX_PADDING = "index-padding"  # not trimmed after a clean stop: zero entries would count
    INDEX_ORPHAN = "index-orphan"  # an index without its log
    TIME_INDEX_MISSING = "time-index-missing"
    TIME_INDEX_SIZE = "time-index-size"
    TIME_INDEX_MISMATCH = "time-index-mismatch"
    TIME_INDEX_ORDER = "time-index-order"
    TIME_INDEX_SHORT = "time-index-short"  # a closed segment whose last entry is below its largest timestamp
    TXN_INDEX_DAMAGED = "txn-index-damaged"
    TXN_INDEX_MISSING = "txn-index-missing"  # an aborted transaction that readers would see
    TXN_INDEX_EXTRA = "txn-index-extra"  # an entry that hides records nobody aborted
    TXN_INDEX_LSO = "txn-index-lso"  # the last stable offset of an entry is not what the log says
    # producers
    SNAPSHOT_DAMAGED = "snapshot-damaged"
    SNAPSHOT_MISMATCH = "snapshot-mismatch"
    SNAPSHOT_MISSING = "snapshot-missing"
    SNAPSHOT_BEYOND_END = "snapshot-beyond-end"
    SEQUENCE_GAP = "sequence-gap"
    DUPLICATE_BATCH = "duplicate-batch"
    PRODUCER_EPOCH = "producer-epoch"  # a fenced epoch wrote
    PRODUCER_UNKNOWN = "producer-unknown"  # lives in a snapshot only, its data is gone
    # transactions
    MARKER_DAMAGED = "marker-damaged"
    MARKER_DOUBLED = "marker-doubled"
    MARKER_EMPTY = "marker-empty"  # closes nothing: a partition was added and not written
    MARKER_MISSING = "marker-missing"
    MARKER_COORDINATOR_EPOCH = "marker-coordinator-epoch"
    TRANSACTION_OPEN = "transaction-open"  # the coordinator knows and will end it
    TRANSACTION_HANGING = "transaction-hanging"  # nobody will end it: the LSO cannot move
    TRANSACTION_TORN = "transaction-torn"  # committed here, aborted there
    TRANSACTION_LOG = "transaction-log"  # a record of __transaction_state that makes no sense
    # groups
    GROUP_RECORD = "group-record"
    COMMITTED_BEYOND_END = "committed-beyond-end"
    COMMITTED_UNKNOWN_PARTITION = "committed-unknown-partition"
    # share groups
    SHARE_RECORD = "share-record"  # a record of __share_group_state that makes no sense
    SHARED_BEYOND_END = "shared-beyond-end"  # records that somebody was given are gone
    SHARED_UNKNOWN_PARTITION = "shared-unknown-partition"
    # the directory
    CHECKPOINT_DAMAGED = "checkpoint-damaged"
    CONFIGS_UNKNOWN = "configs-unknown"  # of a topic that came back from its folders
    OWN_FILE = "own-file"  # a copy of oncelog.topics or oncelog.metadata is damaged or missing
    JOURNAL = "journal"  # not empty, as after a kill; or damaged
    CHECKPOINT_BEYOND_END = "checkpoint-beyond-end"
    LOG_END_BELOW_HIGH_WATERMARK = "log-end-below-high-watermark"
    PARTITION_MISSING = "partition-missing"
    PARTITION_METADATA = "partition-metadata"  # missing, damaged, or of another topic
    LEADER_EPOCHS = "leader-epochs"  # the epoch checkpoint contradicts the batches
    TOPIC_UNKNOWN = "topic-unknown"
    META_PROPERTIES = "meta-properties"
    FOREIGN_FILE = "foreign-file"  # Kafka does not start with it
    FOREIGN_FOLDER = "foreign-folder"
    SET_ASIDE = "set-aside"  # -stray, -delete, -future
    QUARANTINE = "quarantine"  # bytes that a recovery took out of a log
    LEFTOVER = "leftover"  # .deleted, .cleaned, .swap, .tmp
    UNCLEAN_STOP = "unclean-stop"


class Finding(NamedTuple):
    """One finding. `partition` is "" and `offset` None where it concerns the directory."""

    kind: Kind
    severity: Severity
    partition: str
    offset: int | None
    file: str
    message: str


@dataclass(slots=True)
class Findings:
    """Collects findings; one per partition is opened by `of`."""

    items: list[Finding] = field(default_factory=list)
    partition: str = ""

    def of(self, partition: str) -> Findings:
        """The same list, about that partition."""
        return Findings(self.items, partition)

    def error(self, kind: Kind, message: str, *, offset: int | None = None, file: str = "") -> None:
        self.items.append(Finding(kind, Severity.ERROR, self.partition, offset, file, message))

    def note(self, kind: Kind, message: str, *, offset: int | None = None, file: str = "") -> None:
        self.items.append(Finding(kind, Severity.NOTE, self.partition, offset, file, message))

    def add(self, severity: Severity, kind: Kind, message: str, *, offset: int | None = None, file: str = "") -> None:
        self.items.append(Finding(kind, severity, self.partition, offset, file, message))
