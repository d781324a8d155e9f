"""Replays the recorded conversations of golden/share and golden/streams, which tell what was done before on other connections.

Two of them carry the records that the conversation has left in an internal topic; those are compared too.
"""

from __future__ import annotations

from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from oncelog.protocol.primitives import partition_for, uuid_to_kafka
from oncelog.protocol.records import iter_records
from oncelog.storage.audit.dump import plain

from support.golden_clients import ClientReplay, Setup, Step
from support.golden_clients_compare import whole_batches
from support.process import wait_until
from support.replay import plain as messages_plain
from support.share_requests import SharePartition, have_coordinator
from support.wire import Connection

STATE_PARTITIONS = GROUP_PARTITIONS = 50
WITH_TEXTS = frozenset({44, 76, 77, 90, 91, 92})
RECORDED_NAMES = {
    "group": "group_id",
    "initializing": "initializing_topics",
    "initialized": "initialized_topics",
    "deleting": "deleting_topics",
    "name": "topic_name",
}


class RecordedReplay(ClientReplay):
    """One recorded case, its setup included, against one broker that has not seen this case before."""

    def __init__(self, bootstrap: str, case: dict[str, Any], setup: Setup | None = None, *, ours: bool = False) -> None:
        super().__init__(bootstrap, case, setup, ours=ours)
        self.shift_ms = 0  # records are answered byte for byte
        before: dict[int, list[Step]] = {}
        for step in case["setup"]:
            before.setdefault(step["before"], []).append(_step(step))
        for number, step in (setup.before if setup is not None else {}).items():
            before.setdefault(number, []).append(step)
        self.steps = before

    def create_topics(self) -> None:
        """The recording tells which; that of the share coordinator is made when somebody first asks for it."""
        have_coordinator(self.connection("setup").request)

    def before(self, number: int) -> None:
        for step in self.steps.get(number, ()):
            step(self)

    def go(self) -> None:
        super().go()
        if "records" in self.case:
            self.compare_records()

    def check(self, entry: dict[str, Any], frame: bytes | None) -> None:
        """Texts too, where they are part of what a user is told."""
        super().check(entry, frame)
        if entry["key"] in WITH_TEXTS and "response.error_message" not in (entry.get("vary") or ()):
            assert frame is not None
            assert texts(messages_plain(self.decoded(entry, frame))) == texts(self.renamed(entry["response"])), self.where(entry)

    def compare_records(self) -> None:
        """What stands of this case in the internal topic it wrote to."""
        expected = self.case["records"]
        vary = {tuple(path.split(".")) for path in self.case["records_vary"]}
        (topic_id,) = self.topic_ids.values()
        if "topic_id" not in expected[0]["key"]:
            group = expected[0]["key"]["group_id"]
            with Connection(self.bootstrap, timeout=15) as connection:
                found = fetched_records(connection, CONSUMER_OFFSETS, partition_for(group, GROUP_PARTITIONS))
            seen = [named_as_recorded(row) for row in found if row["key"].get("group") == group]
            assert _without(seen, vary) == _without(self.renamed(expected), vary)
            return
        partition = SharePartition(None, expected[0]["key"]["group_id"], topic_id, expected[0]["key"]["partition"])
        assert _without(state_records(self.bootstrap, partition), vary) == _without(expected, vary)


def texts(value: Any) -> list[str]:
    """Every error text in an answer."""
    if isinstance(value, dict):
        own = [value["error_message"]] if value.get("error_message") else []
        return sorted(own + [text for inner in value.values() for text in texts(inner)])
    return sorted(text for inner in value for text in texts(inner)) if isinstance(value, list) else []


def named_as_recorded(value: Any) -> Any:
    """A record in the names of the recordings."""
    if isinstance(value, dict):
        return {RECORDED_NAMES.get(name, name): named_as_recorded(inner) for name, inner in value.items() if name != "assignment_epochs"}
    return [named_as_recorded(inner) for inner in value] if isinstance(value, list) else value


def state_records(bootstrap: str, of: SharePartition) -> list[dict[str, Any]]:
    """The records of a share partition, in the order written, as the recordings show them."""
    place = partition_for(f"{of.group}:{uuid_to_kafka(of.topic_id)}:{of.partition}", STATE_PARTITIONS)
    with Connection(bootstrap, timeout=15) as connection:
        found = fetched_records(connection, SHARE_GROUP_STATE, place)
    named = {"group_id": of.group, "topic_id": uuid_to_kafka(of.topic_id), "partition": of.partition}
    return [row for row in found if row["key"] == named]


def fetched_records(connection: Connection, topic: str, partition: int) -> list[dict[str, Any]]:
    """All records of a partition of an internal topic, decoded."""
    kind = messages.FetchRequest.FetchTopic
    fixed = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0, "session_id": 0, "session_epoch": -1}
    rows: list[dict[str, Any]] = []
    offset = 0
    while True:
        asked = kind.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=-1)
        topics = [kind(topic=topic, partitions=[asked])]
        answer = connection.request(
            ApiKey.FETCH, 12, {**fixed, "replica_id": -1, "topics": topics, "forgotten_topics_data": [], "rack_id": ""}
        )
        data = bytes(answer.responses[0].partitions[0].records or b"")
        if not data:
            return rows
        for position, header in whole_batches(data):
            offset = header.next_offset
            if header.is_control:
                continue  # the end of a transaction with offsets of others
            for record in iter_records(data[position : position + header.size_bytes]):
                key = decode_key(topic, record.key or b"")
                value = decode_value(key, record.value)
                rows.append({"record": type(key).__name__.removesuffix("Key"), "key": plain(key), "value": plain(value)})


def _step(step: dict[str, Any]) -> Step:
    request = step["request"]

    def create(replay: ClientReplay) -> None:
        for topic in request["topics"]:
            name = topic["name"]
            live = replay.live[name] = f"{name}-share"  # other recordings have the short name
            replay.create(live, topic["num_partitions"], {one["name"]: one["value"] for one in topic["configs"]})
            topic_id = replay.topic_ids[name] = replay.topic_ids.pop(live)
            known = SharePartition(replay.connection("setup").request, f"g-{replay.prefix}", topic_id)
            wait_until(lambda known=known: known.summary().error_code == 0, 15.0, "the topic at the share coordinator")  # type: ignore[misc]

    def produce(replay: ClientReplay) -> None:
        for topic in request["topic_data"]:
            for partition in topic["partition_data"]:
                replay.produce(replay.live[topic["name"]], partition["index"], bytes.fromhex(partition["records"]["_hex"]))

    def init_producer(replay: ClientReplay) -> None:
        answer = replay.ask(ApiKey.INIT_PRODUCER_ID, step["version"], **request)
        assert (answer.error_code, answer.producer_epoch) == (0, step["response"]["producer_epoch"])
        replay.live[step["response"]["producer_id"]] = answer.producer_id

    return {"CreateTopics": create, "Produce": produce, "InitProducerId": init_producer}[step["api"]]


def _without(value: Any, vary: set[tuple[str, ...]], path: tuple[str, ...] = ("records",)) -> Any:
    """`value` without what varies from run to run; a field at its default is as one that is not shown."""
    if isinstance(value, dict):
        kept = {name: _without(inner, vary, (*path, name)) for name, inner in value.items() if not _varies((*path, name), vary)}
        return {name: inner for name, inner in kept.items() if (name, inner) != ("delivery_complete_count", -1)}
    if isinstance(value, list):
        inside = (*path[:-1], f"{path[-1]}[*]")
        return [_without(inner, vary, inside) for inner in value]
    return value


def _varies(path: tuple[str, ...], vary: set[tuple[str, ...]]) -> bool:
    return path in vary
