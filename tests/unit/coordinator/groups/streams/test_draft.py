"""What decisions about streams groups write."""

from __future__ import annotations

from oncelog.coordinator.groups.streams.draft import StreamsDraft, group_tombstones, metadata_hash, required_topics, update_target
from oncelog.coordinator.groups.streams.state import StreamsGroup
from oncelog.coordinator.groups.streams.tasks import TaskSets
from oncelog.coordinator.groups.streams.topology import fit
from oncelog.protocol.internal.streams_groups import STREAMS_GROUP_KEYS
from oncelog.protocol.internal.streams_topology import KeyValue, Subtopology, TopicInfo
from support.consumer_group import FakeTopics
from support.streams_group import active, group_of, member, tasks, topology

EVERYTHING = Subtopology(
    "0", ("a",), state_changelog_topics=(TopicInfo("c"),), repartition_sink_topics=("s",), repartition_source_topics=(TopicInfo("r"),)
)


def types(draft: StreamsDraft) -> list[int]:
    return [int.from_bytes(record.key[:2], "big") for record in draft.records]


def test_only_what_is_new_is_written() -> None:
    draft = StreamsDraft(group_of(member(assigned=active(0))))
    assert not draft.put_member(member(assigned=active(0)))
    draft.put_tasks(member(assigned=active(0)))
    assert draft.records == []
    assert draft.put_member(member(rack_id="r"))
    draft.put_tasks(member(assigned=active(1)))
    assert types(draft) == [19, 22]


def test_a_new_member_has_nothing_and_that_is_written() -> None:
    draft = StreamsDraft(StreamsGroup("g"))
    fresh = member(epoch=0, previous_epoch=0)
    assert draft.put_member(fresh)
    draft.put_tasks(fresh)
    assert types(draft) == [19, 22]


def test_every_topic_is_required() -> None:
    assert required_topics(topology(EVERYTHING)) == {"a", "c", "s", "r"}


def test_the_hash_follows_the_topics() -> None:
    topics = FakeTopics()
    seen = [metadata_hash(topology(EVERYTHING), topics)]
    assert seen == [0]
    for name, partitions in (("a", 1), ("c", 1), ("a", 2), ("other", 1)):
        topics.put(name, partitions)
        seen.append(metadata_hash(topology(EVERYTHING), topics))
    assert len(set(seen[:4])) == 4
    assert seen[3] == seen[4]


def test_a_target_of_those_who_are_there() -> None:
    draft = StreamsDraft(group_of(member("a"), member("b", process_id="q"), epoch=6))
    update_target(draft, fit(topology(), {"a": 2}.get), 77)
    assert draft.group.targets == {"a": TaskSets(tasks(0)), "b": TaskSets(tasks(1))}
    assert (draft.group.assignment_epoch, draft.group.assignment_timestamp_ms) == (6, 77)
    assert types(draft) == [21, 21, 20]
    update_target(draft, fit(topology(), {"a": 2}.get), 78)
    assert types(draft) == [21, 21, 20, 20], "targets that stay are not written again"


def test_standbys_are_those_the_epoch_was_written_with() -> None:
    draft = StreamsDraft(group_of(member("a"), member("b", process_id="q"), epoch=6))
    draft.put_epoch(7, 0, 0, (KeyValue("num.standby.replicas", "1"),))
    needs = topology(Subtopology("0", ("a",), state_changelog_topics=(TopicInfo("c"),)))
    update_target(draft, fit(needs, {"a": 1, "c": 1}.get), 77)
    assert draft.group.targets == {"a": TaskSets(tasks(0)), "b": TaskSets(standby=tasks(0))}


def test_nothing_to_do_while_topics_are_missing() -> None:
    draft = StreamsDraft(group_of(member("a"), targets={"a": TaskSets(tasks(0))}, epoch=6))
    update_target(draft, fit(topology(), {}.get), 77)
    assert draft.group.targets == {"a": TaskSets()}


def test_tombstones_for_everything() -> None:
    whole = group_of(member("a", assigned=active(0)), member("b"), targets={"a": TaskSets(tasks(0)), "gone": TaskSets()})
    records = group_tombstones(whole)
    assert all(record.value is None for record in records)
    keys = [record.key for record in records]
    assert len(keys) == len(set(keys))
    assert sorted({int.from_bytes(key[:2], "big") for key in keys}) == sorted(STREAMS_GROUP_KEYS)
    assert len(keys) == 2 + 2 + 2 + 3, "two members, two targets, two assignments, and the group's own three"
