"""Replays the recorded wire conversations of golden/clients/cases on a broker that has not seen the case.

The recordings leave out what was done before on other connections. Most of it follows from the conversation itself: a topic that is
answered without having been made was there before, and batches that are fetched without having been produced were in it. The rest
stands in `golden_clients_setup`.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages.classes import MessageBase
from oncelog.protocol.primitives import MalformedRequest, crc32c
from oncelog.spark_jobs.demo_parts.patience import Patience

from support.golden_clients_compare import (
    NO_UUID,
    UNORDERED,
    answered_topics,
    difference,
    error_codes,
    in_order,
    offered,
    own_part,
    partition_by_partition,
    plain_id,
    produced_hexes,
    stripped,
    topic_names,
    whole_batches,
)
from support.process import wait_until
from support.replay import plain, set_fields
from support.wire import Connection, response_tags

# ids that the broker gives
LEARNED = frozenset({"member_id", "leader", "producer_id", "v3_and_below_producer_id", "session_id", "topic_id", "client_instance_id"})
# asked again until the answer is the recorded one: the recorder polled too, and left it out
READS = (
    "ConsumerGroupHeartbeat",
    "Describe",
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "List",
    "Metadata",
    "OffsetFetch",
    "ConsumerGroupDescribe",
    "ShareGroupDescribe",
    "ShareGroupHeartbeat",
)
BUSY = frozenset({6, 14, 15, 16, 51})
SETTLE_SECONDS = 6.0
RECORDED_MS = 1_795_238_533_282
AROUND_RECORDING_MS = 90 * 86_400_000

Step = Callable[["ClientReplay"], None]


@dataclass(frozen=True)
class Setup:
    """What a conversation does not tell: topics with their configs, and what is done beside it on another connection."""

    topics: Mapping[str, int] = field(default_factory=dict)  # partitions; 0: the topic must not be there
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    infer_batches: bool = True
    prepare: Step | None = None
    before: Mapping[int, Step] = field(default_factory=dict)  # by entry
    during: Mapping[int, Step] = field(default_factory=dict)  # after the entry was sent, before its answer is read
    ours_differs: Mapping[int, str] = field(default_factory=dict)  # entries that oncelog answers otherwise on purpose, and why


class ClientReplay:
    """One recorded case against one broker that has not seen this case before."""

    def __init__(self, bootstrap: str, case: dict[str, Any], setup: Setup | None = None, *, ours: bool = False) -> None:
        self.bootstrap = bootstrap
        self.case = case
        self.ours = ours
        self.entries: list[dict[str, Any]] = case["conversation"]
        self.setup = setup or Setup()
        self.prefix = case["id"].lower()
        self.live: dict[Any, Any] = {}
        self.connections: dict[str, Connection] = {}
        self.topic_ids: dict[str, Any] = {}
        self.names_by_recorded_id = dict(pair for e in self.entries for pair in topic_names(e["response"]))
        self.shift_ms = int(time.time() * 1000) - RECORDED_MS
        self.waiting: dict[str, dict[str, Any]] = {}  # by connection: the entry whose answer is not read yet

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def connection(self, label: str) -> Connection:
        if label == "x" and label in self.connections and self.case["id"] != "H06":  # x: a new connection each time
            self.connections.pop(label).close()
        if label not in self.connections:
            self.connections[label] = Connection(self.bootstrap, timeout=15, client_id="probe")
        return self.connections[label]

    def keys(self) -> set[int]:
        """The API keys that the case needs."""
        return {e["key"] for e in self.entries if e["api"] != "raw" and not e.get("closed") and e["key"] in ApiKey}

    def go(self) -> None:
        """Play everything; AssertionError with entry, expected and seen answer on the first difference."""
        self.create_topics()
        if self.setup.prepare is not None:
            self.setup.prepare(self)
        for position, entry in enumerate(self.entries):
            self.collect(entry["conn"])
            self.before(entry["n"])
            if self.parks(position, entry):
                self.send(self.connection(entry["conn"]), entry)
                self.waiting[entry["conn"]] = entry
            else:
                self.play(self.connection(entry["conn"]), entry)
        for label in list(self.waiting):
            self.collect(label)

    def before(self, number: int) -> None:
        """What is done before an entry on other connections."""
        if number in self.setup.before:
            self.setup.before[number](self)

    def collect(self, label: str) -> None:
        """Read the answer that a connection still waits for."""
        entry = self.waiting.pop(label, None)
        if entry is not None:
            self.check(entry, self.connections[label].receive_frame())

    def parks(self, position: int, entry: dict[str, Any]) -> bool:
        """Is it answered only after what another connection sends later?"""
        if entry["conn"].startswith("park"):
            return True
        request, response = entry["request"], entry["response"]
        for later in self.entries[position + 1 :]:
            if later["conn"] == entry["conn"]:
                return False
            if later["api"] != entry["api"] or later["request"].get("group_id") != request.get("group_id"):
                continue
            if entry["api"] == "JoinGroup" and response["generation_id"] > 0:
                return bool(later["response"]["generation_id"] == response["generation_id"])
            if entry["api"] == "SyncGroup" and not request.get("assignments"):
                return later["request"]["generation_id"] == request["generation_id"] and bool(later["request"].get("assignments"))
        return False

    def send(self, connection: Connection, entry: dict[str, Any]) -> None:
        frame = bytes.fromhex(entry["request_hex"])
        if entry["api"] == "raw":
            connection.send_raw(frame)
        else:
            connection.send_frame(self.frame(entry, frame))

    def play(self, connection: Connection, entry: dict[str, Any]) -> None:
        patience = Patience(SETTLE_SECONDS)
        last = [""]

        def settled() -> bool:
            self.send(connection, entry)
            if entry["response"] is None and not entry.get("closed"):
                return True
            if entry["n"] in self.setup.during:
                self.setup.during[entry["n"]](self)
            answer = connection.receive_frame()
            if entry.get("closed"):
                assert answer is None, f"{self.where(entry)}: an answer, where the connection is to be closed"
                return True
            try:
                self.check(entry, answer)
            except AssertionError as error:
                if patience.over or not (entry["api"].startswith(READS) or self.busy(entry, answer)):
                    raise
                last[0] = str(error)
                return False
            return True

        wait_until(settled, 4 * SETTLE_SECONDS, self.where(entry))

    def busy(self, entry: dict[str, Any], answer: bytes | None) -> bool:
        if answer is None:
            return False
        return bool((set(error_codes(plain(self.decoded(entry, answer)))) - set(error_codes(entry["response"]))) & BUSY)

    def where(self, entry: dict[str, Any]) -> str:
        return f"{self.case['id']} entry {entry['n']} {entry['api']} v{entry['version']}"

    # --- requests ----------------------------------------------------------------------------------------------------

    def frame(self, entry: dict[str, Any], frame: bytes) -> bytes:
        """The recorded frame with ids, times and batches of the present; as it is when it was malformed on purpose."""
        if "_body" in entry["request"] or "_tags" in entry["request"] or "_extra" in entry["request"]:
            return frame
        key, version = entry["key"], entry["version"]
        (length,) = struct.unpack_from(">h", frame, 8)
        start = 10 + max(length, 0) + int(messages.is_flexible(key, version))
        try:
            message = messages.decode_request(key, version, memoryview(frame)[start:])
        except (MalformedRequest, ValueError):
            return frame
        if not self.translate(message):
            return frame
        return frame[:start] + bytes(messages.encode_request(key, version, message))

    def translate(self, message: MessageBase) -> bool:
        """Put live ids and times into a recorded request; was there anything to change?"""
        changed = False
        for name, value in list(set_fields(message)):
            new = value
            if isinstance(value, MessageBase):
                changed |= self.translate(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, MessageBase):
                        changed |= self.translate(item)
                new = [item if isinstance(item, MessageBase) else self.live.get(plain_id(item), item) for item in value]
            elif name == "records" and value:
                new = self.present(bytes(value))
            elif name == "topic_id":
                new = self.live_topic_id(value)
            elif name == "timestamp":
                new = self.shifted(value)
            elif name in LEARNED or isinstance(value, str):
                new = self.live.get(plain_id(value), value)
            if new != value:
                setattr(message, name, new)
                changed = True
        return changed

    def live_topic_id(self, recorded: Any) -> Any:
        """The id that the topic has here: learned, by the name some answer gave with it, or of the only topic there is."""
        key = plain_id(recorded)
        if key in (None, NO_UUID) or len(set(str(key).replace("-", ""))) <= 2:  # unknown on purpose
            return recorded
        if key in self.live:
            return self.live[key]
        name = self.names_by_recorded_id.get(str(key))
        if name is None and len(self.topic_ids) == 1:
            (name,) = self.topic_ids
        return self.topic_ids.get(name or "", recorded)

    def shifted(self, timestamp_ms: int) -> int:
        """A time of the recording as one of today; long ago and far ahead stay."""
        return timestamp_ms + self.shift_ms if abs(timestamp_ms - RECORDED_MS) < AROUND_RECORDING_MS else timestamp_ms

    def present(self, records: bytes) -> bytes:
        """A recorded batch with live producer ids and of today; a wrong CRC stays wrong."""
        if len(records) < 61 or records[16] != 2 or struct.unpack_from(">i", records, 8)[0] != len(records) - 12:
            return records
        changed = bytearray(records)
        valid = struct.unpack_from(">I", records, 17)[0] == crc32c(records[21:])
        base, latest, producer_id = struct.unpack_from(">qqq", records, 27)
        struct.pack_into(">qqq", changed, 27, self.shifted(base), self.shifted(latest), self.live.get(producer_id, producer_id))
        if valid:
            struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
        return bytes(changed)

    # --- answers -----------------------------------------------------------------------------------------------------

    def decoded(self, entry: dict[str, Any], frame: bytes) -> Any:
        key, version = entry["key"], entry["version"]
        if key == ApiKey.API_VERSIONS and version > 4:
            version = 0
        return messages.decode_response(key, version, memoryview(frame)[4 + response_tags(key, version) :])

    def check(self, entry: dict[str, Any], frame: bytes | None) -> None:
        assert frame is not None, f"{self.where(entry)}: connection closed, expected {entry['response']}"
        assert frame[:4] == bytes.fromhex(entry["request_hex"])[4:8], f"{self.where(entry)}: answers came out of order"
        seen = plain(self.decoded(entry, frame))
        self.learn(entry["response"], seen)
        vary = {tuple(path.split(".")[1:]) for path in entry.get("vary", ()) if path.startswith("response.")}
        expected = stripped(own_part(entry, self.renamed(entry["response"]), self.prefix), (), vary)
        found = stripped(own_part(entry, seen, self.prefix), (), vary)
        if self.ours and entry["n"] in self.setup.ours_differs:
            return
        if entry["api"] == "ApiVersions" and expected["error_code"] == 0 and self.ours:
            expected, found = offered(expected), offered(found)
        if entry["api"] == "Fetch" and 3 in error_codes(entry["response"]):
            expected, found = partition_by_partition(expected), partition_by_partition(found)
        if entry["api"] in UNORDERED:
            expected, found = in_order(expected), in_order(found)
        differs = difference(expected, found, "response")
        assert differs is None, f"{self.where(entry)}: {differs}\n  request  {entry['request']}\n  expected {expected}\n  answered {found}"

    def learn(self, recorded: Any, live: Any) -> None:
        """Remember the ids that this broker gave instead of the recorded ones."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            for name, value in recorded.items():
                if name in LEARNED:
                    self.learn_id(name, value, live.get(name))
                else:
                    self.learn(value, live.get(name))
        elif isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
            for one, other in zip(recorded, live, strict=True):
                self.learn(one, other)

    def learn_id(self, name: str, recorded: Any, live: Any) -> None:
        if isinstance(recorded, int):
            given = isinstance(live, int) and (recorded > 0 < live if name == "session_id" else recorded >= 0 <= live)
        else:
            given = bool(recorded) and bool(live)
        if given:
            self.live.setdefault(plain_id(recorded), live)

    def renamed(self, value: Any, name: str = "") -> Any:
        """A recorded answer in the ids and times of this broker."""
        if isinstance(value, dict):
            if name == "records" and set(value) == {"_hex"}:
                return {"_hex": self.present(bytes.fromhex(value["_hex"])).hex()}
            return {k: self.renamed(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.renamed(v) for v in value]
        if name == "topic_id":
            return self.live_topic_id(value)
        if name == "timestamp":
            return self.shifted(value)
        return self.live.get(value, value) if name in LEARNED or isinstance(value, str) else value

    # --- what was there before ---------------------------------------------------------------------------------------

    def ask(self, key: ApiKey, version: int, *, label: str = "setup", **fields: Any) -> Any:
        """A request that the recording leaves out, again while the broker is not ready for it."""

        def ready() -> list[Any]:
            answer = self.connection(label).request(key, version, getattr(messages, f"{key.schema_name}Request")(**fields))
            return [] if set(error_codes(plain(answer))) & (BUSY | {3}) else [answer]

        return wait_until(ready, SETTLE_SECONDS, f"{self.case['id']}: {key.name}")[0]

    def create(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> None:
        kind = messages.CreateTopicsRequest.CreatableTopic
        settings = [kind.CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()]
        topic = kind(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=settings)
        answer = self.ask(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=10_000, validate_only=False)
        assert answer.topics[0].error_code == 0, answer
        self.topic_ids[name] = answer.topics[0].topic_id
        for partition in range(partitions):
            self.wait_for_partition(name, partition)

    def wait_for_partition(self, topic: str, partition: int) -> None:
        kind = messages.ListOffsetsRequest.ListOffsetsTopic
        asked = kind.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=-1)
        self.ask(ApiKey.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=[kind(name=topic, partitions=[asked])])

    def produce(self, topic: str, partition: int, batch: bytes) -> None:
        """Append one batch; a recorded one becomes one of today."""
        kind = messages.ProduceRequest.TopicProduceData
        content = kind.PartitionProduceData(index=partition, records=self.present(bytes(batch)))
        data = [kind(name=topic, partition_data=[content])]
        answer = self.ask(ApiKey.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=data)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def create_topics(self) -> None:
        """Every topic of this case that is answered for but not made, with what was in it."""
        partitions: dict[str, int] = {}
        made: set[str] = set()
        for entry in self.entries:
            if entry["api"] == "CreateTopics":
                made |= {t["name"] for t in entry["request"].get("topics", ()) if t["name"] not in partitions}
            for topic, count in answered_topics(entry["response"]):
                if topic.startswith(self.prefix) and topic not in made:
                    partitions[topic] = max(partitions.get(topic, 0), count)
        partitions |= dict.fromkeys(self.setup.configs, 1) | self.setup.topics
        for topic, count in partitions.items():
            if count:
                self.create(topic, count, self.setup.configs.get(topic))
        if self.setup.infer_batches:
            for (topic, partition), batches in self.fetched_batches().items():
                for offset in sorted(batches):
                    self.produce(topic, partition, batches[offset])

    def fetched_batches(self) -> dict[tuple[str, int], dict[int, bytes]]:
        """By partition and offset the plain batches that were fetched and not produced; with base offset 0, as they were sent."""
        produced = {bytes.fromhex(h)[21:] for h in produced_hexes(self.entries)}
        found: dict[tuple[str, int], dict[int, bytes]] = {}
        for entry in self.entries:
            if entry["api"] != "Fetch" or not entry["response"]:
                continue
            for topic in entry["response"]["responses"]:
                name = topic.get("topic") or self.names_by_recorded_id.get(topic.get("topic_id"))
                name = name or (next(iter(self.topic_ids)) if len(self.topic_ids) == 1 else "")
                for partition in topic["partitions"]:
                    records = bytes.fromhex((partition["records"] or {}).get("_hex", ""))
                    for position, header in whole_batches(records):
                        batch = records[position : position + header.size_bytes]
                        if batch[21:] not in produced and not header.is_control and header.producer_id < 0:
                            plain_batch = struct.pack(">q", 0) + batch[8:]
                            found.setdefault((name, partition["partition_index"]), {})[header.base_offset] = plain_batch
        return found
