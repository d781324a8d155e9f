"""Topics with the epochs that partitions were given at, and the time of an assignment."""

from __future__ import annotations

import uuid

from oncelog.protocol.internal.fields import record_fields, record_value
from oncelog.protocol.internal.group_fields import AssignedTopic, TargetAssignmentMetadata, read_topics, write_topics


def test_topics_with_epochs_and_without() -> None:
    topics = [AssignedTopic(uuid.UUID(int=1), [3, 5], [2, 2]), AssignedTopic(uuid.UUID(int=2), [])]
    out = record_value()
    write_topics(out, topics)
    assert read_topics(record_fields("V", out.result())) == topics


def test_an_assignment_of_unknown_time() -> None:
    for one in (TargetAssignmentMetadata(4), TargetAssignmentMetadata(4, 9)):
        assert TargetAssignmentMetadata.decode(one.encode()) == one
    assert TargetAssignmentMetadata(4).encode().hex() == "00000000000400"
