"""What a broker answers to batches that are wrong in one way each: as Apache Kafka 4.3.0 does, or more strictly where it stores what
consumers stumble over. `--bootstrap` asks another broker."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.malformed import CODECS, PACKED, PAYLOADS, RECORDS, batch, record, records
from support.process import wait_until
from support.wire import Connection

OK, UNKNOWN_SERVER_ERROR, INVALID_TIMESTAMP, INVALID_RECORD = 0, -1, 32, 87
FETCH_SECONDS = 10.0

# What Kafka answers: uncompressed, in every codec.
BY_KAFKA = {
    "good": (OK, OK),
    "negative record length": (INVALID_RECORD, OK),
    "record length zero": (INVALID_RECORD, OK),
    "record length beyond the batch": (INVALID_RECORD, OK),
    "record length of six bytes": (UNKNOWN_SERVER_ERROR, INVALID_RECORD),
    "record length too small by one": (INVALID_RECORD, OK),
    "record length too large by one": (INVALID_RECORD, OK),
    "record larger than its fields": (INVALID_RECORD, UNKNOWN_SERVER_ERROR),
    "key length minus two": (OK, OK),
    "value length minus five": (OK, OK),
    "null header value": (OK, OK),
    "offset deltas all zero": (OK, UNKNOWN_SERVER_ERROR),
    "offset deltas with a gap": (OK, UNKNOWN_SERVER_ERROR),
    "offset delta negative": (OK, UNKNOWN_SERVER_ERROR),
    "record attributes set": (OK, OK),
    "timestamp far ahead": (INVALID_TIMESTAMP, INVALID_TIMESTAMP),
    "timestamp negative": (OK, OK),
}
# Its iterator over compressed records does not look at their lengths, and one varint of a record is read outside the handler of errors.
WE_SAY_INVALID = {
    "negative record length",
    "record length zero",
    "record length beyond the batch",
    "record length of six bytes",
    "record length too small by one",
    "record length too large by one",
    "record larger than its fields",
}
PACKED_BY_KAFKA = {
    ("packed data with a tail", 1): OK,
    ("packed data with a tail", 3): OK,
    ("no packed data", 4): INVALID_RECORD,
}


def create(connection: Connection, topic: str, configs: dict[str, str] | None = None) -> None:
    kind = messages.CreateTopicsRequest.CreatableTopic
    settings = [kind.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    asked = kind(name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=settings)
    answer = connection.request(ApiKey.CREATE_TOPICS, 7, {"topics": [asked], "timeout_ms": 10_000, "validate_only": False})
    assert answer.topics[0].error_code == OK
    wait_until(lambda: end_offset(connection, topic) == 0, what="a leader")


def produce(connection: Connection, topic: str, data: bytes) -> tuple[int, list[int]]:
    """(error code, indexes of the records at fault)"""
    kind = messages.ProduceRequest.TopicProduceData
    partitions = [kind.PartitionProduceData(index=0, records=data)]
    fields = {"acks": -1, "timeout_ms": 5000, "transactional_id": None, "topic_data": [kind(name=topic, partition_data=partitions)]}
    answer = connection.request(ApiKey.PRODUCE, 9, fields).responses[0].partition_responses[0]
    return answer.error_code, [error.batch_index for error in answer.record_errors or []]


def end_offset(connection: Connection, topic: str) -> int:
    kind = messages.ListOffsetsRequest.ListOffsetsTopic
    partition = kind.ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)
    fields = {"replica_id": -1, "isolation_level": 0, "topics": [kind(name=topic, partitions=[partition])]}
    found = connection.request(ApiKey.LIST_OFFSETS, 6, fields).topics[0].partitions[0]
    return int(found.offset) if found.error_code == OK else -1


@pytest.mark.parametrize("codec", [0, *CODECS], ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_records(bootstrap: str, name: str, ours: bool, codec: int) -> None:
    with Connection(bootstrap) as connection:
        create(connection, name)
        answers, stored = {}, 0
        for case, make in PAYLOADS.items():
            code, at_fault = produce(connection, name, make(codec))
            answers[case] = code
            stored += RECORDS if code == OK else 0
            assert at_fault == ([7] if code == INVALID_TIMESTAMP else []), case
        assert end_offset(connection, name) == stored  # nothing of what was refused
    expected = {case: BY_KAFKA.get(case, (INVALID_RECORD, INVALID_RECORD))[codec > 0] for case in PAYLOADS}
    if ours:
        expected |= dict.fromkeys(WE_SAY_INVALID, INVALID_RECORD)
    assert answers == expected


@pytest.mark.parametrize("codec", CODECS, ids=["gzip", "snappy", "lz4", "zstd"])
def test_packed_data(bootstrap: str, name: str, ours: bool, codec: int) -> None:
    with Connection(bootstrap) as connection:
        create(connection, name)
        answers = {case: produce(connection, name, make(codec))[0] for case, make in PACKED.items()}
    expected = {case: PACKED_BY_KAFKA.get((case, int(codec)), UNKNOWN_SERVER_ERROR) for case in PACKED}
    if ours:
        expected["packed data with a tail"] = UNKNOWN_SERVER_ERROR
    assert answers == expected


@pytest.mark.parametrize("codec", [0, *CODECS], ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_compacted_topics_want_keys(bootstrap: str, name: str, codec: int) -> None:
    with Connection(bootstrap) as connection:
        create(connection, name, {"cleanup.policy": "compact"})
        wrong = {at: record(at, key=None) for at in (3, 30)}
        assert produce(connection, name, batch(records(wrong=wrong), codec=codec)) == (INVALID_RECORD, [3, 30])
        many = 20_000
        late = batch(records(many, {many - 1: record(many - 1, key=None)}), count=many, codec=codec)
        assert produce(connection, name, late) == (INVALID_RECORD, [many - 1])
        assert end_offset(connection, name) == 0
        assert produce(connection, name, batch(records(), codec=codec)) == (OK, [])


@pytest.mark.parametrize("codec", [0, *CODECS], ids=["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("target", ["uncompressed", "zstd"])
def test_many_records_and_another_codec(bootstrap: str, name: str, codec: int, target: str) -> None:
    """More records than one turn of the loop may hold, good ones and bad ones, in the order in which they were sent."""
    many = 20_000
    good = batch(records(many), count=many, codec=codec)
    bad = batch(records(many)[:-1], count=many, codec=codec)
    with Connection(bootstrap) as connection:
        create(connection, name, {"compression.type": target})
        kind = messages.ProduceRequest.TopicProduceData
        sent = []
        for data in (good, bad, good, batch(records()), good):
            partitions = [kind.PartitionProduceData(index=0, records=data)]
            fields = {"acks": -1, "timeout_ms": 5000, "transactional_id": None}
            request = messages.ProduceRequest(**fields, topic_data=[kind(name=name, partition_data=partitions)])
            sent.append(connection.send(ApiKey.PRODUCE, 9, bytes(messages.encode_request(ApiKey.PRODUCE, 9, request))))
        answers = [connection.receive(ApiKey.PRODUCE, 9, each).responses[0].partition_responses[0] for each in sent]
        assert [(answer.error_code, answer.base_offset) for answer in answers] == [
            (OK, 0),
            (INVALID_RECORD, -1),
            (OK, many),
            (OK, 2 * many),
            (OK, 2 * many + RECORDS),
        ]
