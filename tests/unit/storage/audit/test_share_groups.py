"""Share partitions that are ahead of their logs, and records of theirs that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, StateBatch
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.findings import Finding, Kind
from oncelog.storage.audit.verify import verify
from oncelog.storage.log.log import AppendOrigin
from support.our_directory import OurDirectory

DELIVERED = StateBatch(0, 1, 0, 1)
ACKNOWLEDGED = StateBatch(2, 2, 2, 1)
LOST = StateBatch(3, 3, 2, 1)


@pytest.fixture
def ours(tmp_path: Path) -> OurDirectory:
    """A topic `plain` with three records in its partition 0 and none in the others."""
    made = OurDirectory(tmp_path / "data")
    made.logs.create_topic("plain", 3)
    made.put("plain", 0, ["a", "b", "c"])
    return made


def found(ours: OurDirectory) -> list[Finding]:
    ours.close()
    return [one for one in verify(ours.logs.data_dir).findings if one.kind.startswith("share")]


def test_what_was_given_out_is_there(ours: OurDirectory) -> None:
    ours.share_state("workers", "plain", 0, DELIVERED, ACKNOWLEDGED)
    ours.share_state("workers", "plain", 1)
    ours.share_state("ahead", "plain", 0, start=500)  # an administrator may say so
    assert found(ours) == []


@pytest.mark.parametrize("batches", [(LOST,), (DELIVERED, LOST)])
def test_what_was_given_out_and_is_gone_is_an_error(ours: OurDirectory, batches: tuple[StateBatch, ...]) -> None:
    at = ours.share_state("workers", "plain", 0, *batches)
    (one,) = found(ours)
    assert (one.kind, one.severity, one.offset) == (Kind.SHARED_BEYOND_END, "error", at)
    assert one.message == "share group 'workers' was given records up to 3 of plain-0, which ends at 3"


def test_what_was_forgotten_or_begun_anew_is_not_looked_at(ours: OurDirectory) -> None:
    topic = ours.logs.topics.get("plain")
    assert topic is not None
    for group, value in (("forgotten", None), ("anew", ShareSnapshotValue(1, 2, 0, 0, 1, 1, ()).encode())):
        ours.share_state(group, "plain", 0, LOST)
        ours.put_share_record(ShareSnapshotKey(group, topic.topic_id, 0), value)
    assert found(ours) == []


def test_states_of_what_is_not_there_are_worth_knowing(ours: OurDirectory) -> None:
    ours.share_state("workers", "plain", 1, DELIVERED)
    ours.share_state("workers", "plain", 7)
    (one,) = found(ours)
    assert (one.kind, one.severity) == (Kind.SHARED_UNKNOWN_PARTITION, "note")
    assert one.message == "share group 'workers' has a state of plain-1, which does not exist"


def test_a_record_that_makes_no_sense(ours: OurDirectory) -> None:
    ours.share_state("workers", "plain", 0)
    log = ours.log(SHARE_GROUP_STATE, 3)
    begin = log.log_end_offset
    topic = ours.logs.topics.get("plain")
    assert topic is not None
    key, value = ShareSnapshotKey("g", topic.topic_id, 0).encode(), ShareSnapshotValue(0, 0, 0, 0, 1, 1, (DELIVERED,)).encode()
    for record in ((key, value[:-3]), (key[:-2], value), (b"\x00\x07", b"of a later version")):
        log.append(build_batch([(ours.now_ms, *record)]), ours.now_ms, origin=AppendOrigin.COORDINATOR)
    assert [(one.kind, one.partition, one.offset) for one in found(ours)] == [
        (Kind.SHARE_RECORD, "__share_group_state-3", begin),
        (Kind.SHARE_RECORD, "__share_group_state-3", begin + 1),
    ]
