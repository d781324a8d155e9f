"""Replays the recorded wire conversations of golden/clients/cases on a fresh broker.

The recordings leave out what was done before on other connections. Most of it follows from the conversation itself: a topic that is
answered without having been made was there before, and batches that are fetched without having been produced were in it. The rest
stands in `SETUP` below.
"""

from __future__ import annotations

import contextlib
import re
import struct
import time
from collections.abc import Callable, Iterable
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.primitives import MalformedRequest, crc32c
from oncelog.protocol.records import iter_headers
from support.replay import plain, set_fields
from support.wire import Connection, response_tags
from oncelog.protocol.message_class import MessageBase

UUID = re.compile(r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")
# not the broker's behaviour: where it listens, which node and cluster it is, when it ran
VARIES = frozenset({"host", "port", "node_id", "broker_id", "controller_id", "cluster_id", "error_message", "batch_index_error_message"})
LEARNED = frozenset({"member_id", "leader", "producer_id", "session_id", "topic_id", "client_instance_id"})
SETTLE_SECONDS = 6.0


class ClientReplay:
    """One recorded case against one broker that has not seen this case before."""

    def __init__(self, bootstrap: str, case: dict[str, Any]) -> None:
        self.bootstrap = bootstrap
        self.case = case
        self.prefix = case["id"].lower()
        self.live: dict[Any, Any] = {}
        self.connections: dict[str, Connection] = {}
        self.topic_ids: dict[str, Any] = {}
        self.shift_ms: int | None = None

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def connection(self, label: str) -> Connection:
        if label == "x" and label in self.connections and self.case["id"] != "H06":  # x: a new connection each time
            self.connections.pop(label).close()
        if label not in self.connections:
            self.connections[label] = Connection(self.bootstrap, timeout=15)
        return self.connections[label]

    def go(self) -> None:
        """Play everything; AssertionError with entry, expected and seen answer on the first difference."""
        configs, prepare = SETUP.get(self.case["id"], ({}, None))
        self.create_topics(configs)
        if prepare is not None:
            prepare(self)
        parked: list[tuple[dict[str, Any], Connection]] = []
        entries = self.case["conversation"]
        for position, entry in enumerate(entries):
            connection = self.connection(entry["conn"])
            later = [e for e in entries[position + 1 :] if e["conn"] == entry["conn"] and e["conn"] != "x"]
            if self.parks(entry) and later is not None:
                self.send(connection, entry)
                parked.append((entry, connection))
                continue
            self.play(connection, entry)
        for entry, connection in parked:
            self.check(entry, connection.receive_frame())

    def parks(self, entry: dict[str, Any]) -> bool:
        """Sent now, answered after what follows."""
        return entry["conn"].startswith("park")

    def send(self, connection: Connection, entry: dict[str, Any]) -> None:
        frame = bytes.fromhex(entry["request_hex"])
        if entry["api"] == "raw":
            connection.send_raw(frame)
        else:
            connection.send_frame(self.frame(entry, frame))

    def play(self, connection: Connection, entry: dict[str, Any]) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            self.send(connection, entry)
            if entry["response"] is None and not entry.get("closed"):
                return
            answer = connection.receive_frame()
            if entry.get("closed"):
                assert answer is None, f"{self.where(entry)}: an answer, where the connection is to be closed"
                return
            try:
                self.check(entry, answer)
            except AssertionError:
                reads = entry["api"].startswith(("Describe", "List", "OffsetFetch", "Metadata", "Fetch", "FindCoordinator"))
                settles = reads or self.busy(entry, answer)
                if not settles or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def busy(self, entry: dict[str, Any], answer: bytes | None) -> bool:
        if answer is None:
            return False
        codes = set(_codes(plain(self.decoded(entry, answer)))) - set(_codes(entry["response"]))
        return bool(codes & {6, 14, 15, 16, 51})

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
        self.translate(message)
        encoded = bytes(messages.encode_request(key, version, message))
        return frame[:start] + encoded if len(encoded) and self.changed else frame

    changed = False

    def translate(self, message: MessageBase) -> None:
        for name, value in list(set_fields(message)):
            new = value
            if isinstance(value, MessageBase):
                self.translate(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, MessageBase):
                        self.translate(item)
                new = [self.live.get(_plain_id(item), item) if not isinstance(item, MessageBase) else item for item in value]
            elif name == "records" and value:
                new = self.present(bytes(value))
            elif name in LEARNED or isinstance(value, str):
                new = self.live.get(_plain_id(value), value)
                if name == "topic_id" and new is value and value is not None:
                    new = self.guess(message, value)
            if new != value:
                setattr(message, name, new)
                self.changed = True

    def guess(self, holder: MessageBase, recorded: Any) -> Any:
        """The live id of a topic whose recorded id no answer has shown: the only topic there is, unless it is unknown on purpose."""
        unknown = any(c == 100 for e in self.case["conversation"] for c in _codes(e["response"]))
        if len(self.topic_ids) == 1 and not (unknown and str(recorded).startswith(("00000000", "11111111", "01010101"))):
            (live,) = self.topic_ids.values()
            self.live.setdefault(_plain_id(recorded), live)
            return live
        return recorded

    def present(self, batch: bytes) -> bytes:
        """A recorded batch with live producer ids and of today; a wrong CRC stays wrong."""
        if len(batch) < 61 or batch[16] != 2 or struct.unpack_from(">i", batch, 8)[0] != len(batch) - 12:
            return batch
        changed = bytearray(batch)
        valid = struct.unpack_from(">I", batch, 17)[0] == crc32c(batch[21:])
        base, latest, producer_id = struct.unpack_from(">qqq", batch, 27)
        shift = self.shift(latest)
        if base >= 0:
            base += shift
        struct.pack_into(">qqq", changed, 27, base, latest + shift if latest >= 0 else latest, self.live.get(producer_id, producer_id))
        if valid:
            struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
        self.changed = True
        return bytes(changed)

    def shift(self, latest: int) -> int:
        if self.shift_ms is None and latest > 10**12:
            self.shift_ms = 0  # recorded times are compared: they stay, as long as no segment expires
        return self.shift_ms or 0

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
        vary = {tuple(path.split(".")[1:]) for path in entry["vary"] if path.startswith("response.")}
        expected = _stripped(self.renamed(entry["response"]), (), vary)
        found = _stripped(seen, (), vary)
        if entry["api"] in UNORDERED:
            expected, found = _sorted(expected), _sorted(found)
        difference = _difference(expected, found, "response")
        assert difference is None, f"{self.where(entry)}: {difference}\n  request  {entry['request']}\n  expected {expected}\n  answered {found}"

    def learn(self, recorded: Any, live: Any) -> None:
        if isinstance(recorded, dict) and isinstance(live, dict):
            for name, value in recorded.items():
                if name in LEARNED and value and live.get(name):
                    self.live.setdefault(_plain_id(value), live[name])
                else:
                    self.learn(value, live.get(name))
        elif isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
            for one, other in zip(recorded, live, strict=True):
                self.learn(one, other)

    def renamed(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: self.renamed(v) if k not in LEARNED else self.live.get(_plain_id(v), v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.renamed(v) for v in value]
        return self.live.get(value, value) if isinstance(value, str) else value

    # --- what was there before ---------------------------------------------------------------------------------------

    def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        deadline = time.monotonic() + SETTLE_SECONDS
        if "setup" not in self.connections:
            self.connections["setup"] = Connection(self.bootstrap, timeout=15)
        while True:
            answer = self.connections["setup"].request(key, version, getattr(messages, f"{key.schema_name}Request")(**fields))
            if not set(_codes(plain(answer))) & {3, 6, 14, 15, 16, 51} or time.monotonic() > deadline:
                return answer
            time.sleep(0.02)

    def create(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        kind = messages.CreateTopicsRequest.CreatableTopic
        settings = [kind.CreatableTopicConfig(name=k, value=v) for k, v in configs.items()]
        topic = kind(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=settings)
        answer = self.ask(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=10_000, validate_only=False)
        assert answer.topics[0].error_code in (0, 36), answer
        self.topic_ids[name] = answer.topics[0].topic_id
        for partition in range(partitions):
            self.produce(name, partition, None)

    def produce(self, topic: str, partition: int, batch: bytes | None) -> None:
        """Append one batch; with None only wait until the partition takes any."""
        topics = messages.ListOffsetsRequest.ListOffsetsTopic
        if batch is None:
            asked = topics(name=topic, partitions=[topics.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=-1)])
            self.ask(ApiKey.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=[asked])
            return
        data = messages.ProduceRequest.TopicProduceData
        content = data(name=topic, partition_data=[data.PartitionProduceData(index=partition, records=batch)])
        answer = self.ask(ApiKey.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=[content])
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def create_topics(self, configs: dict[str, dict[str, str]]) -> None:
        """Every topic of this case that is answered for but not made, with what was in it."""
        partitions: dict[str, int] = {}
        made: set[str] = set()
        for entry in self.case["conversation"]:
            if entry["api"] == "CreateTopics":
                made |= {t["name"] for t in entry["request"].get("topics", ()) if t["name"] not in partitions}
            known = dict(_answered(entry["request"], entry["response"]))
            for topic, count in known.items():
                if topic.startswith(self.prefix) and topic not in made:
                    partitions[topic] = max(partitions.get(topic, 0), count)
        for topic in configs:
            partitions.setdefault(topic, 1)
        for topic, settings in configs.items():
            if "partitions" in settings:
                partitions[topic] = int(settings["partitions"])
        for topic, count in partitions.items():
            self.create(topic, count, {k: v for k, v in configs.get(topic, {}).items() if k != "partitions"})
        self.seed()

    def seed(self) -> None:
        """The batches that were fetched but not produced, in order."""
        produced = {bytes.fromhex(h)[21:] for h in _hexes(self.case["conversation"], "request")}
        batches: dict[tuple[str, int], dict[int, bytes]] = {}
        for entry in self.case["conversation"]:
            if entry["api"] != "Fetch" or not entry["response"]:
                continue
            for topic in entry["response"]["responses"]:
                name = topic.get("topic") or (next(iter(self.topic_ids)) if len(self.topic_ids) == 1 else "")
                for partition in topic["partitions"]:
                    records = bytes.fromhex((partition["records"] or {}).get("_hex", ""))
                    for position, header in _whole(records):
                        batch = records[position : position + header.size_bytes]
                        if batch[21:] not in produced and not header.is_control and header.producer_id < 0:
                            batches.setdefault((name, partition["partition_index"]), {})[header.base_offset] = batch
        for (name, partition), found in batches.items():
            for offset in sorted(found):
                self.produce(name, partition, struct.pack(">q", 0) + found[offset][8:])


UNORDERED = frozenset({"ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "DeleteGroups", "DescribeProducers", "Metadata", "DescribeConfigs",
                       "WriteTxnMarkers", "DescribeClientQuotas", "ListConfigResources", "OffsetFetch", "DescribeLogDirs"})


def _plain_id(value: Any) -> Any:
    return str(value) if value is not None and not isinstance(value, int | str | list | dict) else value if not isinstance(value, list | dict) else None


def _codes(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith("error_code") and isinstance(inner, int):
                yield inner
            else:
                yield from _codes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _codes(inner)


def _stripped(value: Any, path: tuple[str, ...], vary: set[tuple[str, ...]]) -> Any:
    """Without what varies; `name[*]` stands for any element of a list."""
    if isinstance(value, dict):
        if set(value) == {"_hex"}:
            return None if (*path, "_hex") in vary else value["_hex"]
        return {k: _stripped(v, (*path, k), vary) for k, v in value.items() if k not in VARIES and (*path, k) not in vary}
    if isinstance(value, list):
        inside = (*path[:-1], f"{path[-1]}[*]") if path else path
        return [_stripped(v, inside, vary) for v in value]
    if (*path, "_hex") in vary:
        return None
    return str(value) if hasattr(value, "hex") and not isinstance(value, float | str) else value


def _difference(expected: Any, found: Any, path: str) -> str | None:
    """The first place where `found` is not `expected`; fields that were not recorded do not count."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return f"{path}: expected {expected!r}, found {found!r}"
        for name, value in expected.items():
            if name not in found:
                if value in (None, -1, [], "", 0):
                    continue
                return f"{path}.{name} is missing"
            inner = _difference(value, found[name], f"{path}.{name}")
            if inner:
                return inner
        return None
    if isinstance(expected, list):
        if not isinstance(found, list) or len(expected) != len(found):
            return f"{path}: expected {expected!r}, found {found!r}"
        return next((d for i, (e, f) in enumerate(zip(expected, found, strict=True)) if (d := _difference(e, f, f"{path}[{i}]"))), None)
    return None if expected == found else f"{path}: expected {expected!r}, found {found!r}"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _sorted(v) for k, v in value.items()}
    return sorted((_sorted(v) for v in value), key=lambda v: repr(sorted(v.items()) if isinstance(v, dict) else v)) if isinstance(value, list) else value


def _answered(request: Any, response: Any) -> Iterable[tuple[str, int]]:
    """(topic, partitions at least) of the topics that an answer takes for known."""

    def walk(value: Any) -> Iterable[tuple[str, int]]:
        if isinstance(value, list):
            for inner in value:
                yield from walk(inner)
        if not isinstance(value, dict):
            return
        name = value.get("topic", value.get("name", value.get("topic_name", value.get("resource_name"))))
        if isinstance(name, str) and value.get("error_code", 0) not in (3, 17, 100):
            inside = [p for f in ("partitions", "partition_responses", "partition_result") for p in value.get(f) or ()]
            good = [p if isinstance(p, int) else p.get("partition_index", p.get("index", p.get("partition", 0))) for p in inside
                    if isinstance(p, int) or p.get("error_code", p.get("partition_error_code", 0)) != 3]
            if good or not inside:
                yield name, max((*good, 0)) + 1
        for inner in value.values():
            yield from walk(inner)

    yield from walk(response)


def _whole(records: bytes) -> Iterable[tuple[int, Any]]:
    with contextlib.suppress(ValueError, struct.error):
        for position, header in iter_headers(records):
            if position + header.size_bytes <= len(records):
                yield position, header


def _hexes(entries: list[dict[str, Any]], side: str) -> Iterable[str]:
    for entry in entries:
        if entry["api"] == "Produce":
            for topic in entry[side].get("topic_data", ()):
                for partition in topic["partition_data"]:
                    yield (partition["records"] or {}).get("_hex", "")


Prepare = Callable[[ClientReplay], None]
SETUP: dict[str, tuple[dict[str, dict[str, str]], Prepare | None]] = {}
