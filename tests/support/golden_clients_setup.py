"""What the recorded conversations leave out and what cannot be inferred from them: by case."""

from __future__ import annotations

import time

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch

from support.golden_clients import RECORDED_MS, ClientReplay, Setup, Step
from support.process import wait_until

ONE_RECORD = 69  # bytes of the recorder's usual batch: one record with a value of one byte
ASSIGNMENT_INTERVAL_SECONDS = 1.1  # group.consumer.assignment.interval.ms and a little


def batch(size_bytes: int = ONE_RECORD, *, key: bytes | None = None, timestamp_ms: int = RECORDED_MS) -> bytes:
    """A batch of one record, `size_bytes` long in all."""
    value = bytes(max(size_bytes - ONE_RECORD, 0) + 1)
    while len(built := build_batch([(timestamp_ms, key, value)])) > size_bytes and len(value) > 1:
        value = value[:-1]
    return bytes(built)


def seed(topic: str, count: int, *, partition: int = 0, size_bytes: int = ONE_RECORD, key: bytes | None = None) -> Step:
    """`count` batches of one record each, with times that grow."""

    def run(replay: ClientReplay) -> None:
        for number in range(count):
            replay.produce(topic, partition, batch(size_bytes, key=key, timestamp_ms=RECORDED_MS + number))

    return run


def all_of(*steps: Step) -> Step:
    def run(replay: ClientReplay) -> None:
        for step in steps:
            step(replay)

    return run


def pause(seconds: float) -> Step:
    """Time that the broker's own clock has to pass; nothing shows when it has."""

    def run(replay: ClientReplay) -> None:
        end = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() > end, seconds + 5, "time")

    return run


def init_producer(transactional_id: str, recorded_id: int) -> Step:
    """Give `transactional_id` its first producer id, recorded as `recorded_id`."""

    def run(replay: ClientReplay) -> None:
        answer = replay.ask(
            ApiKey.INIT_PRODUCER_ID, 4, transactional_id=transactional_id, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        assert (answer.error_code, answer.producer_epoch) == (0, 0)
        replay.live[recorded_id] = answer.producer_id

    return run


def produce_fetched(entry: int, topic: str, offset: int) -> Step:
    """Produce the batch that entry `entry` finds at `offset`."""

    def run(replay: ClientReplay) -> None:
        replay.produce(topic, 0, replay.fetched_batches()[topic, 0][offset])

    return run


def idempotent_batch(topic: str, producer_id: int, producer_epoch: int, count: int) -> Step:
    def run(replay: ClientReplay) -> None:
        records = [(RECORDED_MS, None, b"v")] * count
        replay.produce(topic, 0, bytes(build_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0)))

    return run


def leader_of(group: str, member: str, *, rebalance_timeout_ms: int) -> Step:
    """A classic member that joins alone, gets generation 1 and then keeps silent; and the id of a second one that is to come."""

    def run(replay: ClientReplay) -> None:
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")

        def join(label: str, member_id: str) -> object:
            connection = replay.connection(label)
            fields = {
                "group_id": group,
                "member_id": member_id,
                "group_instance_id": None,
                "protocol_type": "consumer",
                "protocols": [protocol],
            }
            times = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": rebalance_timeout_ms}
            answers = wait_until(
                lambda: [
                    a
                    for a in [connection.request(ApiKey.JOIN_GROUP, 9, {**fields, **times, "reason": None})]
                    if a.error_code not in (14, 15, 16)
                ]
            )
            return answers[0]

        given = join("a", "")
        replay.live[member] = given.member_id  # type: ignore[attr-defined]
        joined = join("a", replay.live[member])
        assert joined.generation_id == 1, joined  # type: ignore[attr-defined]
        assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment(member_id=replay.live[member], assignment=b"A1")
        fields = {
            "group_id": group,
            "generation_id": 1,
            "member_id": replay.live[member],
            "group_instance_id": None,
            "assignments": [assignment],
        }
        answer = replay.connection("a").request(ApiKey.SYNC_GROUP, 5, {**fields, "protocol_type": "consumer", "protocol_name": "range"})
        assert answer.error_code == 0, answer
        second = join("b", "")
        recorded = replay.entries[0]["request"]["member_id"]
        replay.live[recorded] = second.member_id  # type: ignore[attr-defined]

    return run


def member_gone(group: str) -> Step:
    """Wait until the silent member's session is over."""

    def run(replay: ClientReplay) -> None:
        def empty() -> bool:
            described = replay.connection("setup").request(
                ApiKey.DESCRIBE_GROUPS, 5, {"groups": [group], "include_authorized_operations": False}
            )
            return not described.groups[0].members

        wait_until(empty, 12, f"the end of the member of {group}")

    return run


def heartbeat_until(group: str, recorded_member: str, epoch: int, *, from_epoch: int, owns_nothing: bool = False) -> Step:
    """The heartbeats of a consumer that takes and gives up what it is told to, until it is at `epoch`."""

    def run(replay: ClientReplay) -> None:
        member = replay.live.get(recorded_member, recorded_member)
        kind = messages.ConsumerGroupHeartbeatRequest
        current, owned = from_epoch, [] if owns_nothing else None

        def reached() -> bool:
            nonlocal current, owned
            request = kind(
                group_id=group,
                member_id=member,
                member_epoch=current,
                instance_id=None,
                rack_id=None,
                rebalance_timeout_ms=-1,
                subscribed_topic_names=None,
                subscribed_topic_regex=None,
                server_assignor=None,
                topic_partitions=owned,
            )
            answer = replay.connection("setup").request(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
            assert answer.error_code == 0, answer
            current = answer.member_epoch
            if answer.assignment is not None:
                owned = [kind.TopicPartitions(topic_id=t.topic_id, partitions=t.partitions) for t in answer.assignment.topic_partitions]
            return current >= epoch and answer.assignment is None

        wait_until(reached, 15, f"{group}: epoch {epoch}")

    return run


def create(topic: str, partitions: int = 1) -> Step:
    return lambda replay: replay.create(topic, partitions)


def recreate(topic: str, recorded_id: str) -> Step:
    """Make a deleted topic again; `recorded_id` stays the first one's id."""

    def run(replay: ClientReplay) -> None:
        replay.live[recorded_id] = replay.topic_ids[topic]
        replay.create(topic, 1)

    return run


def delete(topic: str) -> Step:
    """`topic` is not there, whatever ran before."""

    def run(replay: ClientReplay) -> None:
        request = {"topic_names": [topic], "timeout_ms": 10_000}
        connection = replay.connection("setup")
        wait_until(lambda: connection.request(ApiKey.DELETE_TOPICS, 5, request).responses[0].error_code == 3)

    return run


def topics(**partitions: int) -> Setup:
    return Setup(topics=partitions)


def seeded(topic: str, count: int) -> Setup:
    return Setup(topics={topic: 1}, prepare=seed(topic, count))


K07_MEMBER, K08_MEMBER = "FngeoNq-WiyJvhf0Zpud4g", "qDXHYtBEVTW9zWQctd82Nw"
SETUP: dict[str, Setup] = {
    "A02": Setup(topics={"a02": 2}, prepare=seed("a02", 1, size_bytes=170)),
    "A03": Setup(topics={"a03": 1}, prepare=idempotent_batch("a03", 888001, 3, 2)),
    "C03": Setup(ours_differs={9: "the topic of share partitions is made at once: 0, where Kafka begins to make it"}),
    "D01": Setup(configs={"d01": {"retention.ms": "1000"}}),
    "E01": Setup(topics={"e01": 1, "e01-empty": 1}, prepare=seed("e01", 3)),
    "F03": seeded("f03", 4),
    "F04": Setup(infer_batches=False, during={2: seed("f04", 1)}),
    "F06": Setup(
        topics={"f06": 3},
        infer_batches=False,
        prepare=all_of(seed("f06", 2, partition=1, size_bytes=570), seed("f06", 2, partition=2, size_bytes=570)),
    ),
    "F12": Setup(
        infer_batches=False,
        prepare=all_of(init_producer("f12-txn", 27), produce_fetched(3, "f12", 0)),
        before={2: produce_fetched(3, "f12", 2)},
        ours_differs={11: "an unknown isolation level reads as read_committed, where Kafka stumbles with -1"},
    ),
    "F14": seeded("f14", 1),
    "G12": Setup(before={4: member_gone("g12")}),
    "G13": Setup(prepare=leader_of("g13", "probe-2a4e6a34-b665-45e9-ba7c-21bdacf9d315", rebalance_timeout_ms=1000)),
    "H15": topics(h15=1),
    "K02": topics(k02=3),
    "K03": topics(k03=1),
    "K04": Setup(topics={"k04": 4}, before={1: pause(ASSIGNMENT_INTERVAL_SECONDS), 2: pause(ASSIGNMENT_INTERVAL_SECONDS)}),
    "K06": topics(k06=2),
    "K07": Setup(
        topics={"k07-other": 1, "k07-r-1": 1, "k07-r-2": 1},
        before={
            2: heartbeat_until("k07", K07_MEMBER, 4, from_epoch=2, owns_nothing=True),
            4: heartbeat_until("k07", K07_MEMBER, 5, from_epoch=4),
        },
    ),
    "K08": Setup(
        topics={"k08": 3, "k08-later": 0},
        before={2: all_of(create("k08-later"), heartbeat_until("k08", K08_MEMBER, 3, from_epoch=2))},
    ),
    "K10": topics(k10=2),
    "K11": topics(k11=2),
    "K12": topics(k12=1),
    "K14": topics(k14=4),
    "L01": seeded("l01", 3),
    "L03": Setup(topics={"l03": 1, "l03e": 1}, prepare=seed("l03", 4)),
    "L04": seeded("l04", 3),
    "M15": Setup(before={3: recreate("m15", "277a1410-876e-4824-a68e-5a140874fbdf")}),
    "O06": Setup(prepare=init_producer("o06-txn", 28)),
    "M05": Setup(topics={"m05-auto": 0}),
    "M06": Setup(topics={"m06-auto": 0}),
    "M11": Setup(topics={"m11": 1, "m11b": 1}),
    "P02": topics(p02=1),
    "P10": Setup(configs={"p10": {"max.message.bytes": "200"}}),
    "P11": Setup(configs={"p11": {"message.timestamp.type": "LogAppendTime"}}, infer_batches=False),
    "P14": Setup(prepare=seed("p14", 1)),
    "P20": Setup(configs={"p20": {"compression.type": "gzip"}, "p20b": {"compression.type": "uncompressed"}}, infer_batches=False),
    "T03": topics(t03=1),
    "T07": Setup(topics={"t07.a": 1}),
    "T14": Setup(prepare=delete("__share_group_state")),
    "T20": Setup(topics={f"t20-{version}": 1 for version in range(4)}),
    "T41": Setup(
        configs={"t41": {"cleanup.policy": "compact"}, "t41b": {"cleanup.policy": "compact,delete"}},
        prepare=all_of(seed("t41", 2, key=b"k"), seed("t41b", 2, key=b"k")),
    ),
}
