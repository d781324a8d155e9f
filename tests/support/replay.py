"""Replays a recorded conversation with Apache Kafka 4.3.0 against the broker under test and compares the answers.

What varies from run to run is renamed first: producer ids by order of appearance, names by their run part, member ids by the answers
that gave them; timestamps inside batches are moved to the present. Answers that the recorder polled for (it left the polling out) are
polled for here as well. Everything else is compared exactly.
"""

from __future__ import annotations

import contextlib
import re
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.messages.classes import MessageBase
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.primitives import crc32c
from oncelog.spark_jobs.demo_parts.patience import Patience

from support.wire import Connection

NAME = re.compile(r"^(tx|t|g)-([a-z]\d+)-(\d+)-(\d+)$")
BUSY = (6, 14, 15, 16)  # answered by a broker that is still making a topic or loading
# asked again until the answer is the recorded one, because the recorder polled too
READS = frozenset({"DescribeTransactions", "Fetch", "OffsetFetch", "ListOffsets", "DescribeProducers", "ListTransactions", "Metadata"})
VARIES = frozenset(
    {
        "throttle_time_ms",
        "topic_id",
        "max_timestamp",
        "last_timestamp",
        "timestamp",
        "log_append_time_ms",
        "transaction_start_time_ms",
        "coordinator_epoch",
        "leader_epoch",
        "committed_leader_epoch",
        "records",
        "error_message",
        "host",
        "port",
        "node_id",
    }
)
ID_FIELDS = frozenset({"producer_id", "v3_and_below_producer_id", "next_producer_id"})
SETTLE_SECONDS = 14.0  # Kafka looks for timed out transactions every 10 s


class Replay:
    """One recorded case against one broker. `run` replaces the recording's run part in names."""

    def __init__(self, bootstrap: str, case: dict[str, Any], run: str, instead: Mapping[int, Any] | None = None) -> None:
        self.bootstrap = bootstrap
        self.case = case
        self.run = run
        self.instead = instead or {}  # by step: what is answered differently
        self.ids: dict[int, int] = {}
        self.members: dict[str, str] = {}
        self.connections: dict[str, Connection] = {}
        self.shift_ms: int | None = None

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def connection(self, label: str) -> Connection:
        if label not in self.connections:
            self.connections[label] = Connection(self.bootstrap, timeout=15)
        return self.connections[label]

    def go(self) -> None:
        """Play every step; AssertionError with the step and both answers on the first difference."""
        self.create_topics()
        self.reach_first_epoch()
        for step in self.case["steps"]:
            self.play(step)

    # --- what the recording leaves out -------------------------------------------------------------------------------

    def create_topics(self) -> None:
        """Every topic that is used and not answered as unknown."""
        wanted: dict[str, int] = {}
        for step in self.case["steps"]:
            unknown = set(_unknown(step["response"], None))
            for topic, partition in _partitions(step["request"], None):
                if NAME.match(topic) and (topic, partition) not in unknown:
                    wanted[topic] = max(wanted.get(topic, 0), partition + 1)
        for topic, partitions in wanted.items():
            self.ask(
                ApiKey.CREATE_TOPICS,
                5,
                messages.CreateTopicsRequest(
                    topics=[
                        messages.CreateTopicsRequest.CreatableTopic(
                            name=self.renamed(topic), num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
                        )
                    ],
                    timeout_ms=10_000,
                    validate_only=False,
                ),
            )

    def reach_first_epoch(self) -> None:
        """The recording starts where an id already has its epoch: initialise it that often."""
        given: set[int] = set()
        initialised: set[str] = set()
        for step in self.case["steps"]:
            request, answered = step["request"], step["response"]
            if step["api"] == "InitProducerId" and answered and answered["error_code"] == 0:
                given.add(answered["producer_id"])
                initialised.add(request["transactional_id"])
            transactional_id = request.get("transactional_id") or request.get("v3_and_below_transactional_id")
            producer_id = request.get("producer_id", request.get("v3_and_below_producer_id"))
            epoch = request.get("producer_epoch", request.get("v3_and_below_producer_epoch"))
            for batch in step.get("request_batches", ()):
                producer_id, epoch = batch["producer_id"], batch["producer_epoch"]
            if producer_id is None or producer_id < 0 or producer_id in given or transactional_id in (None, "", *initialised):
                continue
            if step["api"] == "InitProducerId":
                continue
            given.add(producer_id)
            for _ in range(epoch + 1):
                answer = self.ask(
                    ApiKey.INIT_PRODUCER_ID,
                    4,
                    messages.InitProducerIdRequest(
                        transactional_id=self.renamed(transactional_id),
                        transaction_timeout_ms=_timeout(self.case["steps"]),
                        producer_id=-1,
                        producer_epoch=-1,
                    ),
                )
                assert answer.error_code == 0, answer
            assert answer.producer_epoch == epoch
            self.ids[producer_id] = answer.producer_id

    def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        """A request of our own, again while the coordinator is busy."""
        patience = Patience(SETTLE_SECONDS)
        while True:
            answer = self.connection("setup").request(key, version, request)
            if getattr(answer, "error_code", 0) not in (*BUSY, 51) or patience.over:
                return answer
            time.sleep(0.02)

    # --- one step ----------------------------------------------------------------------------------------------------

    def play(self, step: dict[str, Any]) -> None:
        key, version = ApiKey(step["key"]), step["version"]
        expected = self.expected(step)
        patience = Patience(SETTLE_SECONDS)
        while True:
            connection = self.connection(step["conn"])
            body = self.body(key, version, bytes.fromhex(step["request_hex"]))
            answer = connection.receive(key, version, connection.send(key, version, body))
            self.learn(step["response"], plain(answer))
            seen = self.comparable(step["api"], plain(answer), batches_of(answer) if "response_batches" in step else None)
            expected = self.expected(step)
            if seen == expected:
                self.rejoin(step, answer)
                return
            codes = set(_codes(seen))
            early = codes & {*BUSY, 3, 51} - set(_codes(expected))
            again = step["api"] in READS or early
            failed = not again or patience.over
            assert not failed, (
                f"case {self.case['case']} step {step['n']} {step['api']} v{version}\n  request  {step['request']}\n"
                f"  expected {expected}\n  answered {seen}"
            )
            time.sleep(0.01)

    def rejoin(self, step: dict[str, Any], answer: Any) -> None:
        """The recording leaves out a join that was parked to the end: the one after MEMBER_ID_REQUIRED on a connection of its own."""
        if step["api"] == "JoinGroup" and step["conn"] != "main" and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request = messages.decode_request(ApiKey.JOIN_GROUP, step["version"], bytes.fromhex(step["request_hex"]))
            request.group_id, request.member_id = self.renamed(request.group_id), answer.member_id
            body = bytes(messages.encode_request(ApiKey.JOIN_GROUP, step["version"], request))
            self.connection(step["conn"]).send(ApiKey.JOIN_GROUP, step["version"], body)

    def body(self, key: ApiKey, version: int, recorded: bytes) -> bytes:
        """The recorded request with everything renamed."""
        message = messages.decode_request(key, version, memoryview(recorded))
        for holder, field, value in fields_of(message):
            if isinstance(value, str):
                setattr(holder, field, self.members.get(value, self.renamed(value)))
            elif field in ID_FIELDS and value in self.ids:
                setattr(holder, field, self.ids[value])
            elif isinstance(value, list) and value and isinstance(value[0], str):
                setattr(holder, field, [self.members.get(v, self.renamed(v)) for v in value])
            elif field == "producer_id_filters":
                setattr(holder, field, [self.ids.get(v, v) for v in value])
            elif field == "records" and value:
                setattr(holder, field, self.present(bytes(value)))
        return bytes(messages.encode_request(key, version, message))

    def present(self, batch: bytes) -> bytes:
        """A recorded batch with the live producer id and of today; its CRC stays right, or wrong, as it was."""
        if len(batch) < 61 or batch[16] != 2:
            return batch
        changed = bytearray(batch)
        valid = struct.unpack_from(">I", batch, 17)[0] == crc32c(batch[21:])
        base, latest, producer_id = struct.unpack_from(">qqq", batch, 27)
        if self.shift_ms is None:
            self.shift_ms = int(time.time() * 1000) - latest
        struct.pack_into(">qqq", changed, 27, base + self.shift_ms, latest + self.shift_ms, self.ids.get(producer_id, producer_id))
        if valid:
            struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
        return bytes(changed)

    def renamed(self, name: str) -> str:
        match = NAME.match(name)
        return f"{match[1]}-{self.run}-{match[3]}-{match[4]}" if match else name

    def learn(self, recorded: Any, live: Any) -> None:
        """Take the live producer ids and member ids from an answer of the recorded shape."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            for field, value in recorded.items():
                if field == "producer_id" and isinstance(value, int) and value >= 0 and live.get(field, -1) >= 0:
                    self.ids.setdefault(value, live[field])
                elif field in ("member_id", "leader") and value and live.get(field):
                    self.members.setdefault(value, live[field])
                else:
                    self.learn(value, live.get(field))
        elif isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
            for one, other in zip(recorded, live, strict=True):
                self.learn(one, other)

    # --- comparing ---------------------------------------------------------------------------------------------------

    def expected(self, step: dict[str, Any]) -> Any:
        """The recorded answer in the live run's names."""
        response = merged(step["response"], self.instead.get(step["n"]))
        return self.comparable(step["api"], self.translated(response), self.translated(step.get("response_batches")))

    def translated(self, value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {k: self.translated(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.translated(v, field) for v in value]
        if isinstance(value, str):
            return self.members.get(value, self.renamed(value))
        if field == "producer_id" and isinstance(value, int):
            return self.ids.get(value, value)
        return value

    def comparable(self, api: str, answer: Any, batches: Any) -> Any:
        stripped = _strip(answer)
        if api == "ListTransactions":  # other cases' transactions are no business of this one
            mine = f"-{self.run}-{self.case['case']}-"
            stripped["transaction_states"] = [s for s in stripped["transaction_states"] if mine in s["transactional_id"]]
        if api in ("AddPartitionsToTxn", "ListTransactions", "DescribeProducers", "DescribeTransactions", "WriteTxnMarkers"):
            stripped = _sorted(stripped)
        return (stripped, _strip(batches)) if batches is not None else stripped


def merged(recorded: Any, instead: Any) -> Any:
    """`recorded` with the fields of `instead` in their places; lists of the same length item by item."""
    if isinstance(recorded, dict) and isinstance(instead, dict):
        return recorded | {k: merged(recorded.get(k), v) for k, v in instead.items()}
    if isinstance(recorded, list) and isinstance(instead, list) and instead and len(recorded) == len(instead):
        return [merged(one, other) for one, other in zip(recorded, instead, strict=True)]
    return recorded if instead is None else instead


def set_fields(message: MessageBase) -> Iterable[tuple[str, Any]]:
    """(name, value) of the fields that decoding has set: those of the version, and tagged ones that were sent."""
    for name in message._defaults:
        with contextlib.suppress(AttributeError):
            yield name, object.__getattribute__(message, name)


def fields_of(message: MessageBase) -> Iterable[tuple[MessageBase, str, Any]]:
    """(holder, field name, value) of every field of a decoded message, nested ones too."""
    for name, value in set_fields(message):
        if isinstance(value, MessageBase):
            yield from fields_of(value)
        elif isinstance(value, list) and value and isinstance(value[0], MessageBase):
            for item in value:
                yield from fields_of(item)
        else:
            yield message, name, value


def plain(message: Any) -> Any:
    """A decoded message as dicts and lists, with the names the recordings use."""
    if isinstance(message, MessageBase):
        return {name: plain(value) for name, value in set_fields(message)}
    if isinstance(message, list):
        return [plain(item) for item in message]
    if isinstance(message, bytes | bytearray | memoryview):
        return bytes(message).hex()
    return message


def batches_of(answer: Any) -> list[dict[str, Any]]:
    """The batch headers of a Fetch answer, as the recordings list them."""
    from oncelog.protocol.control_records import parse_end_transaction_marker
    from oncelog.protocol.records import iter_headers

    found = []
    for topic in answer.responses:
        for partition in topic.partitions:
            records = bytes(partition.records or b"")
            for position, header in iter_headers(records):
                entry = {
                    "base_offset": header.base_offset,
                    "last_offset": header.last_offset,
                    "attributes": header.attributes,
                    "producer_id": header.producer_id,
                    "producer_epoch": header.producer_epoch,
                    "base_sequence": header.base_sequence,
                    "count": header.records_count,
                    "max_timestamp": header.max_timestamp,
                }
                marker = parse_end_transaction_marker(records[position : position + header.size_bytes]) if header.is_control else None
                if marker is not None:
                    entry |= {"marker": "COMMIT" if marker.commit else "ABORT", "coordinator_epoch": marker.coordinator_epoch}
                found.append(entry | {"partition": partition.partition_index})
    return found


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"_hex"}:
            return value["_hex"]
        if value.get("topic") == CONSUMER_OFFSETS:  # which partition follows from the group's name, which is another
            return {"topic": CONSUMER_OFFSETS}
        return {k: _strip(v) for k, v in value.items() if k not in VARIES}
    return [_strip(v) for v in value] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _sorted(v) for k, v in value.items()}
    return sorted((_sorted(v) for v in value), key=repr) if isinstance(value, list) else value


def _codes(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        for field, inner in value.items():
            if field.endswith("error_code"):
                yield inner
            else:
                yield from _codes(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _codes(inner)


def _partitions(value: Any, topic: str | None) -> Iterable[tuple[str, int]]:
    """Every (topic, partition) that a request names."""
    if isinstance(value, list):
        for inner in value:
            yield from _partitions(inner, topic)
    if not isinstance(value, dict):
        return
    topic = value.get("topic", value.get("name", topic))
    for field, inner in value.items():
        if field in ("partition", "partition_index", "index") and topic:
            yield topic, inner
        elif field in ("partitions", "partition_indexes") and topic:
            yield from ((topic, number) for number in inner if isinstance(number, int))
        yield from _partitions(inner, topic)


def _unknown(value: Any, topic: str | None) -> Iterable[tuple[str, int]]:
    """Every (topic, partition) answered as UNKNOWN_TOPIC_OR_PARTITION."""
    if isinstance(value, list):
        for inner in value:
            yield from _unknown(inner, topic)
    if not isinstance(value, dict):
        return
    topic = value.get("topic", value.get("name", topic))
    if topic and any(value.get(field) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for field in ("error_code", "partition_error_code")):
        for field in ("partition", "partition_index", "index"):
            if field in value:
                yield topic, value[field]
    for inner in value.values():
        yield from _unknown(inner, topic)


def _timeout(steps: list[dict[str, Any]]) -> int:
    for step in steps:
        for state in (step["response"] or {}).get("transaction_states", ()):
            if "transaction_timeout_ms" in state and state["transaction_timeout_ms"] > 0:
                return int(state["transaction_timeout_ms"])
    return 60_000
