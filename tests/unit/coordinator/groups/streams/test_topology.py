"""What partitions internal topics get, and what is said of a topology that no topics fit (KIP-1071)."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.streams.topology import FittedTopology, StatusCode, fit, summary
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import CopartitionGroup, Subtopology, TopicInfo
from support.streams_group import stateful, topology

R = TopicInfo("r")
S = TopicInfo("s")


def fitted(counts: dict[str, int], *subtopologies: Subtopology) -> FittedTopology:
    return fit(topology(*subtopologies), counts.get)


def missing(found: FittedTopology) -> dict[str, int]:
    return {topic.name: topic.partitions for topic in found.missing}


def refused(*subtopologies: Subtopology) -> str:
    with pytest.raises(KafkaError) as caught:
        fitted({"a": 2}, *subtopologies)
    assert caught.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
    return caught.value.message or ""


def test_missing_source_topics_are_named() -> None:
    found = fitted({"a": 1}, Subtopology("0", ("a", "z", "b")))
    assert not found.ready
    assert found.problem == (StatusCode.MISSING_SOURCE_TOPICS, "Source topics b, z are missing.")
    assert not found.subtopologies


def test_three_topics_are_named_and_the_others_counted() -> None:
    assert summary("abcde") == "a, b, c and 2 additional topics"
    assert summary("abc") == "a, b, c"


def test_tasks_are_the_partitions_of_the_largest_topic_read() -> None:
    found = fitted({"a": 2, "b": 5}, Subtopology("0", ("a", "b")))
    assert found.ready
    assert found.subtopologies["0"].tasks == 5
    assert not found.subtopologies["0"].stateful


def test_partitions_the_application_asks_for() -> None:
    """Case T07: the topology that was recorded."""
    found = fitted(
        {"a": 3},
        Subtopology("0", ("a",), state_changelog_topics=(TopicInfo("two"),), repartition_sink_topics=("r",)),
        Subtopology("1", state_changelog_topics=(TopicInfo("store"),), repartition_source_topics=(TopicInfo("r", 2, 1),)),
    )
    assert missing(found) == {"r": 2, "store": 2, "two": 3}
    assert found.problem == (StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: r, store, two")
    assert [each.tasks for each in found.subtopologies.values()] == [3, 2]


def test_open_repartition_topics_follow_who_writes_them() -> None:
    """Through a chain, whichever order the subtopologies come in; the last reads what the first wrote two hops before."""
    chain = (
        Subtopology("0", repartition_source_topics=(S,), state_changelog_topics=(TopicInfo("c"),)),
        Subtopology("1", ("a",), repartition_sink_topics=("s",), repartition_source_topics=(R,)),
        Subtopology("2", ("b",), repartition_sink_topics=("r",)),
    )
    assert missing(fitted({"a": 2, "b": 4}, *chain)) == {"r": 4, "s": 2, "c": 2}  # as Kafka: s is told once a alone is known


def test_a_topology_that_feeds_itself() -> None:
    loop = Subtopology("0", ("a",), repartition_sink_topics=("r",), repartition_source_topics=(R,))
    assert missing(fitted({"a": 2}, loop)) == {"r": 2}


def test_a_cycle_without_sources_is_refused() -> None:
    one = Subtopology("0", repartition_sink_topics=("r",), repartition_source_topics=(S,))
    other = Subtopology("1", repartition_sink_topics=("s",), repartition_source_topics=(R,))
    assert "There may be loops" in refused(Subtopology("2", ("a",)), one, other)


def test_a_repartition_topic_nobody_writes_is_refused() -> None:
    assert "never used as a sink topic" in refused(Subtopology("0", ("a",), repartition_source_topics=(R,)))


def test_a_subtopology_that_reads_nothing_is_refused() -> None:
    assert "does not contain any source topics" in refused(Subtopology("0", ("a",)), Subtopology("1"))


def test_ids_and_positions_must_be_right() -> None:
    assert "must be unique" in refused(Subtopology("0", ("a",)), Subtopology("0", ("a",)))
    for group in (CopartitionGroup((1,)), CopartitionGroup((-1,)), CopartitionGroup((), (), (0,))):
        assert "subtopology 0 names" in refused(Subtopology("0", ("a",), copartition_groups=(group,)))


def together(*repartitions: TopicInfo) -> tuple[Subtopology, Subtopology]:
    """Sources a and b with repartition topics, all in one copartition group; c is written to the latter."""
    group = CopartitionGroup((0, 1), (), tuple(range(len(repartitions))))
    reads = Subtopology("0", ("a", "b"), repartition_source_topics=repartitions, copartition_groups=(group,))
    return reads, Subtopology("1", ("c",), repartition_sink_topics=tuple(topic.name for topic in repartitions))


def test_copartitioned_sources_must_agree() -> None:
    found = fitted({"a": 2, "b": 3, "c": 1}, *together())
    text = "Following topics do not have the same number of partitions: [{a=2, b=3}]"
    assert found.problem == (StatusCode.INCORRECTLY_PARTITIONED_TOPICS, text)


def test_open_repartition_topics_follow_their_group() -> None:
    assert missing(fitted({"a": 2, "b": 2, "c": 7}, *together(R, S))) == {"r": 2, "s": 2}


def test_a_fixed_repartition_topic_must_agree_with_sources() -> None:
    found = fitted({"a": 2, "b": 2, "c": 7}, *together(TopicInfo("r", 3)))
    assert found.problem is not None
    assert found.problem.code is StatusCode.INCORRECTLY_PARTITIONED_TOPICS
    assert found.problem.detail.startswith("Number of partitions [3] of repartition topic [r] doesn't match number of partitions [2]")


def only_internal(*repartitions: TopicInfo) -> tuple[Subtopology, ...]:
    group = CopartitionGroup((), (), tuple(range(len(repartitions))))
    reads = Subtopology("0", repartition_source_topics=repartitions, copartition_groups=(group,))
    return reads, Subtopology("1", ("a",), repartition_sink_topics=("r",)), Subtopology("2", ("b",), repartition_sink_topics=("s",))


def test_a_group_of_open_repartition_topics_takes_the_most() -> None:
    assert missing(fitted({"a": 2, "b": 5}, *only_internal(R, S))) == {"r": 5, "s": 5}


def test_a_group_of_repartition_topics_takes_the_fixed_number() -> None:
    assert missing(fitted({"a": 2, "b": 5}, *only_internal(TopicInfo("r", 3), S))) == {"r": 3, "s": 3}
    found = fitted({"a": 2, "b": 5}, *only_internal(TopicInfo("r", 3), TopicInfo("s", 4)))
    assert found.problem is not None
    assert found.problem.detail == "Following topics do not have the same number of partitions: [{r=3, s=4}]"


def test_an_internal_topic_with_another_number_is_named() -> None:
    found = fitted({"a": 2, "changelog-0": 3}, stateful())
    text = "Existing topic changelog-0 has different number of partitions: expected 2, found 3"
    assert found.problem == (StatusCode.INCORRECTLY_PARTITIONED_TOPICS, text)
    assert not found.subtopologies


def test_everything_there() -> None:
    found = fitted({"a": 2, "changelog-0": 2}, stateful())
    assert found.ready
    assert found.subtopologies["0"].stateful
    assert found.missing == ()


def test_a_source_topic_may_be_a_changelog() -> None:
    """Of a table read from a topic that nobody else writes (topology optimization): it stays as it is."""
    both = Subtopology("0", ("a", "b"), state_changelog_topics=(TopicInfo("b"),))
    assert fitted({"a": 4, "b": 2}, both).ready


def test_long_chains_cost_no_more_than_they_are_long() -> None:
    """The last subtopology is known first, so that every round of all of them would tell one more topic."""
    length = 5_000
    looks = 0

    def count_of(name: str) -> int | None:
        nonlocal looks
        looks += 1
        return 2 if name == "a" else None

    chain = [
        Subtopology(f"{n:05}", repartition_sink_topics=(f"r{n}",), repartition_source_topics=(TopicInfo(f"r{n + 1}"),))
        for n in range(length)
    ]
    chain.append(Subtopology("99999", ("a",), repartition_sink_topics=(f"r{length}",)))
    chain.append(Subtopology("00000-", repartition_source_topics=(TopicInfo("r0"),)))
    assert len(fit(topology(*chain), count_of).missing) == length + 1
    assert looks < 10 * length
