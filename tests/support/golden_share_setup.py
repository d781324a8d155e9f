"""What the recordings of share fetches leave out: configs of their groups, and the state that a first member has initialized."""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from support.golden_clients import ClientReplay, Setup, Step
from support.process import wait_until
from support.share_requests import SharePartition

GROUP = 32
UNKNOWN = "11111111-2222-3333-4444-555555555555"  # on purpose
EARLIEST = {"share.auto.offset.reset": "earliest"}


def configured(group: str, configs: Mapping[str, str], replay: ClientReplay) -> None:
    """Set them on the group."""
    kind = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    settings = [kind.AlterableConfig(name=name, config_operation=0, value=value) for name, value in configs.items()]
    resources = [kind(resource_type=GROUP, resource_name=group, configs=settings)]
    answer = replay.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=False)
    assert not answer.responses[0].error_code, answer


def shared(*, at: int = 0, **more: str) -> Step:
    """Every group of the case may fetch from every topic that is there before entry `at`."""

    def step(replay: ClientReplay) -> None:
        learn_topics(replay, at)
        groups = {entry["request"].get("group_id") for entry in replay.entries if entry["key"] in (76, 78, 79)}
        for group in sorted(name for name in groups if name and not name.endswith("-none")):
            configured(group, EARLIEST | {f"share.{name.replace('_', '.')}": value for name, value in more.items()}, replay)
            for topic_id in replay.topic_ids.values():
                known = SharePartition(replay.connection("setup").request, group, topic_id)
                if known.summary().state_epoch == 0:
                    wait_until(lambda known=known: known.initialize(1, -1).error_code == 0, 15.0, "a share partition")  # type: ignore[misc]

    return step


def member(member_id: str, topic: str, *, epoch: int = 3, **configs: str) -> Step:
    """Somebody is in the group, and has been given what there is."""

    def step(replay: ClientReplay) -> None:
        if configs:
            setting(**configs)(replay)
        beaten(replay, f"g-{replay.prefix}", member_id, 0, epoch, [replay.live[topic]])

    return step


def beating(entry: int, epoch: int, **configs: str) -> Step:
    """Who sent `entry` goes on with heartbeats until it is at `epoch`, then the group gets `configs`."""

    def step(replay: ClientReplay) -> None:
        first = replay.entries[entry]
        beaten(replay, first["request"]["group_id"], first["request"]["member_id"], first["response"]["member_epoch"], epoch)
        if configs:
            setting(**configs)(replay)

    return step


def beaten(replay: ClientReplay, group: str, member_id: str, begin: int, epoch: int, names: list[str] | None = None) -> None:
    current = begin

    def reached() -> bool:
        nonlocal current
        asked = {
            "group_id": group,
            "member_id": member_id,
            "member_epoch": current,
            "subscribed_topic_names": names if current == 0 else None,
        }
        answer = replay.connection("setup").request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, asked)
        assert answer.error_code in (0, 14, 15, 16), answer
        current = answer.member_epoch or current
        return current >= epoch

    wait_until(reached, 15.0, f"{group}: epoch {epoch}")


def after(*steps: Step) -> Step:
    """One behind the other."""

    def step(replay: ClientReplay) -> None:
        for each in steps:
            each(replay)

    return step


def setting(**configs: str) -> Step:
    """The group of the case gets them."""
    named = {f"share.{name.replace('_', '.')}": value for name, value in configs.items()}

    def step(replay: ClientReplay) -> None:
        group = f"g-{replay.prefix}"
        configured(group, named, replay)
        kind = messages.DescribeConfigsRequest.DescribeConfigsResource
        asked = [kind(resource_type=GROUP, resource_name=group, configuration_keys=list(named))]

        def known() -> bool:
            (result,) = replay.ask(ApiKey.DESCRIBE_CONFIGS, 4, resources=asked).results
            return {one.name: one.value for one in result.configs} == named

        wait_until(known, 15.0, f"settings of {group}")

    return step


def lost(label: str) -> Step:
    """A connection is closed."""
    return lambda replay: replay.connections.pop(label).close()


def learn_topics(replay: ClientReplay, at: int) -> None:
    """No answer of a share fetch has a topic's name: the first id that is asked for now is that of the newest topic."""
    topics = (topic["topic_id"] for topic in replay.entries[at]["request"].get("topics", ()))
    replay.live[UNKNOWN] = UNKNOWN
    for recorded in topics:
        replay.live.setdefault(recorded, list(replay.topic_ids.values())[-1])


def produced(replay: ClientReplay) -> None:
    """The batch that wakes the fetch of the last entry."""
    (topic,) = replay.topic_ids
    (records,) = (p["records"]["_hex"] for t in replay.entries[-1]["response"]["responses"] for p in t["partitions"])
    replay.produce(replay.live[topic], 0, bytes.fromhex(records))


_LOADED_LATER = {0: "answered with the partition, which Apache Kafka has not loaded yet"}
_NEVER_LOADED = {1: "answered with the error that Apache Kafka has not found yet"}

SETUP: Mapping[str, Setup] = {
    **{f"F{number:02}": Setup(before={0: shared()}) for number in range(1, 37)},
    "F16": Setup(before={0: shared(record_lock_duration_ms="15000")}),
    "F18": Setup(before={0: shared(record_lock_duration_ms="15000")}),
    "F21": Setup(before={0: shared(), 1: shared(at=1)}),
    "F26": Setup(before={0: shared()}, during={2: produced}, ours_differs=_LOADED_LATER),
    "F27": Setup(before={0: shared(partition_max_record_locks="100")}),
    "C02": Setup(before={0: setting(delivery_count_limit="7")}),
    "G01": Setup(before={1: setting(assignment_interval_ms="0")}),
    "G04": Setup(before={1: beating(0, 3, assignment_interval_ms="0"), 4: beating(3, 5)}),
    "G05": Setup(before={1: beating(0, 3, assignment_interval_ms="15000")}),
    "G06": Setup(
        before={
            1: beating(0, 3, assignment_interval_ms="15000"),
            2: after(setting(assignment_interval_ms="0"), beating(0, 4), beating(1, 4)),
        }
    ),
    "G09": Setup(before={1: beating(0, 3)}),
    "G20": Setup(
        before={
            1: beating(0, 3, assignment_interval_ms="15000"),
            2: after(setting(assignment_interval_ms="0"), beating(1, 4, assignment_interval_ms="15000")),
        }
    ),
    "O01": Setup(before={0: member("6ea1ccb5-cddf-447a-bee3-f2ed9beaad4c", "o01", auto_offset_reset="earliest")}),
    "O02": Setup(before={0: member("2519f140-d772-4ae3-b32f-0df145887445", "o02")}),
    "O04": Setup(before={0: member("157827d6-bb1a-4e2b-a819-3dd1c71be9ae", "o04", auto_offset_reset="earliest")}),
    "O06": Setup(before={0: member("52792937-04e9-4c65-80fb-39582e7e299e", "o06", auto_offset_reset="earliest"), 3: lost("k")}),
    "P09": Setup(before={0: member("906699ea-c82e-45b6-b414-7e101c55d20f", "p09", auto_offset_reset="earliest")}),
    "P10": Setup(before={1: beating(0, 3)}),
    "F33": Setup(before={0: shared()}, ours_differs=_NEVER_LOADED),
}
