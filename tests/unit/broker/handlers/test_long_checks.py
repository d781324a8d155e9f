"""Batches that take long to check hold nobody up but the connection they came on, and take no more memory than they may; nor does a
segment that takes long to mend."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.compression import Codec, compress
from oncelog.protocol.primitives import varint
from oncelog.protocol.records import build_batch, parse_header, patch_offset
from oncelog.storage.recovery import mend
from support.loop_watch import WatchedBroker, watched_broker
from support.malformed import CODECS, NOW_MS, RECORDS, batch, record, records
from support.process import wait_until
from support.storage_kit import T0, Kit
from support.wire import Connection

pytestmark = pytest.mark.uncovered
OK, MESSAGE_TOO_LARGE, INVALID_RECORD = 0, 10, 87
TURN_MS = 20.0
SEGMENT_BYTES = 256 << 20
BOMB_BYTES = 250 << 20


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    with watched_broker(tmp_path_factory.mktemp("watched") / "data", num_partitions="100") as broker:
        yield broker


def send(connection: Connection, topic: str, batches: list[bytes]) -> int:
    kind = messages.ProduceRequest.TopicProduceData
    partitions = [kind.PartitionProduceData(index=index, records=data) for index, data in enumerate(batches)]
    fields = {"acks": -1, "timeout_ms": 5000, "transactional_id": None, "topic_data": [kind(name=topic, partition_data=partitions)]}
    request = messages.ProduceRequest(**fields)
    return connection.send(ApiKey.PRODUCE, 9, bytes(messages.encode_request(ApiKey.PRODUCE, 9, request)))


def answers(connection: Connection, correlation_id: int) -> list[int]:
    found = connection.receive(ApiKey.PRODUCE, 9, correlation_id).responses[0].partition_responses
    return [partition.error_code for partition in found]


def make_topic(connection: Connection, name: str, partitions: int = 1, **configs: str) -> None:
    kind = messages.CreateTopicsRequest.CreatableTopic
    settings = [kind.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    asked = kind(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=settings)
    answer = connection.request(ApiKey.CREATE_TOPICS, 7, {"topics": [asked], "timeout_ms": 60_000, "validate_only": False})
    assert answer.topics[0].error_code == OK


def longest_turn(watched: WatchedBroker, topic: str, batches: list[bytes], expected: int) -> None:
    """The least of three tries: processor time is noisy, too."""
    best = (float("inf"), "")
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        for _ in range(3):
            watched.reset()
            assert answers(connection, send(connection, topic, batches)) == [expected] * len(batches)
            best = min(best, (watched.longest_ms, watched.longest_turn))
            if best[0] < TURN_MS:
                return
    raise AssertionError(f"a turn of {best[0]:.1f} ms: {best[1]}")


@pytest.mark.parametrize("codec", CODECS, ids=["gzip", "snappy", "lz4", "zstd"])
def test_bombs(watched: WatchedBroker, name: str, codec: int) -> None:
    """One to each of many partitions: refused at the limit, if their codec can hide so much, and no memory is kept."""
    bomb = batch(b"", packed=compress(codec, bytes(BOMB_BYTES if codec == Codec.ZSTD else 8 << 20)), codec=codec)
    with Connection(watched.bootstrap, timeout=60.0) as connection:
        make_topic(connection, name, 20, max_message_bytes=str(max(len(bomb), 100_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    longest_turn(watched, name, [bomb] * 20, INVALID_RECORD if codec == Codec.SNAPPY else MESSAGE_TOO_LARGE)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


def uneven(count: int) -> bytes:
    """Records whose sizes differ, so that each has to be looked at."""
    return b"".join(record(index, value=b"v" * (index % 13)) for index in range(count))


@pytest.mark.parametrize("codec", [0, Codec.LZ4])
@pytest.mark.parametrize("kind", ["many records", "many headers", "another codec"])
def test_much_to_look_at(watched: WatchedBroker, name: str, codec: int, kind: str) -> None:
    headers = varint(200_000) + varint(0) * 400_000
    payload = record(0, headers=headers) if kind == "many headers" else uneven(40_000)
    data = batch(payload, count=1 if kind == "many headers" else 40_000, codec=codec)
    with Connection(watched.bootstrap, timeout=60.0) as connection:
        make_topic(connection, name, 3, compression_type="gzip" if kind == "another codec" else "producer")
    longest_turn(watched, name, [data] * 3, OK)


@pytest.mark.parametrize("codec", [0, *CODECS], ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_lookup_by_timestamp(watched: WatchedBroker, name: str, codec: int) -> None:
    """Of the last record of a batch that has to be unpacked and gone through."""
    count = 50_000
    payload = b"".join(record(index, timestamp_delta=index) for index in range(count))
    kind = messages.ListOffsetsRequest.ListOffsetsTopic
    with Connection(watched.bootstrap, timeout=60.0) as connection:
        make_topic(connection, name, message_timestamp_after_max_ms=str(2**62), max_message_bytes="5000000")
        assert answers(connection, send(connection, name, [batch(payload, count=count, codec=codec)])) == [OK]
        best = float("inf")
        for _ in range(3):
            watched.reset()
            partition = kind.ListOffsetsPartition(partition_index=0, timestamp=NOW_MS + count - 1, current_leader_epoch=-1)
            asked = {"replica_id": -1, "isolation_level": 0, "topics": [kind(name=name, partitions=[partition])]}
            found = connection.request(ApiKey.LIST_OFFSETS, 6, asked).topics[0].partitions[0]
            assert (found.error_code, found.offset, found.timestamp) == (OK, count - 1, NOW_MS + count - 1)
            best = min(best, watched.longest_ms)
    assert best < TURN_MS, watched.longest_turn


def with_a_damaged_batch(data_dir: Path) -> int:
    """A sealed segment of 256 MiB, one bit of which is wrong in the middle of it; the offset of that batch."""
    kit = Kit(data_dir)
    kit.create(internal_segment_bytes=str(1 << 30), index_interval_bytes="4096")
    kit.log.append(build_batch([(T0, b"k", b"v" * 8_000)]), T0)
    kit.kill()
    path = next(kit.folder.glob("*.log"))
    stored = bytearray(path.read_bytes())
    count = SEGMENT_BYTES // len(stored)
    with path.open("wb") as file:
        for offset in range(count):
            patch_offset(stored, offset, 0)
            file.write(stored)
    kit.start()
    kit.log.roll(T0)
    kit.append()
    kit.stop()
    with path.open("r+b") as file:
        file.seek(count // 2 * len(stored) + 1_000)
        file.write(b"w")
    return count // 2


@pytest.mark.parametrize("version", [11, 12], ids=["ordinary way", "straight way"])
def test_a_large_segment_that_has_to_be_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """While it is, whoever asks for the damaged place waits; others are answered, from the same partition too."""
    damaged = with_a_damaged_batch(tmp_path / "data")
    begun, gate, check = threading.Event(), threading.Event(), mend.check_segment

    def held(*args: Any, **options: Any) -> int:
        begun.set()
        assert gate.wait(60.0)
        return check(*args, **options)

    with watched_broker(tmp_path / "data") as watched:
        monkeypatch.setattr(mend, "check_segment", held)
        with Connection(watched.bootstrap, timeout=60.0) as reader, Connection(watched.bootstrap, timeout=20.0) as other:
            other.request(ApiKey.API_VERSIONS, 3, {"client_software_name": "c", "client_software_version": "1"})
            watched.reset()
            waiting = reader.send(ApiKey.FETCH, version, fetch(version, damaged, max_wait_ms=60_000))
            assert begun.wait(20.0)
            for _ in range(100):
                other.request(ApiKey.API_VERSIONS, 3, {"client_software_name": "c", "client_software_version": "1"})
            assert answers(other, send(other, "t", [batch(records())])) == [OK]
            for offset, wait_ms, some in ((0, 0, True), (damaged, 0, False), (damaged, 100, False), (damaged * 2, 0, True)):
                sent = other.send(ApiKey.FETCH, version, fetch(version, offset, wait_ms))
                answer = other.receive(ApiKey.FETCH, version, sent).responses[0].partitions[0]
                assert (answer.error_code, bool(answer.records)) == (OK, some)
            gate.set()
            answer = reader.receive(ApiKey.FETCH, version, waiting).responses[0].partitions[0]
        assert answer.error_code == OK
        assert parse_header(answer.records).base_offset == damaged + 1
        assert watched.longest_ms < 5 * TURN_MS, watched.longest_turn  # a second and more when the loop did it


def fetch(version: int, offset: int, max_wait_ms: int) -> bytes:
    kind = messages.FetchRequest.FetchTopic
    asked = kind.FetchPartition(
        partition=0, current_leader_epoch=-1, fetch_offset=offset, last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=1 << 20
    )
    request = messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic="t", partitions=[asked])],
        forgotten_topics_data=[],
        rack_id="",
    )
    return bytes(messages.encode_request(ApiKey.FETCH, version, request))


def test_who_hangs_up_is_not_waited_for(watched: WatchedBroker, name: str) -> None:
    """What was received is stored, as by Kafka; what was sent behind it on the same connection is stored after it, or not at all."""
    long, short = batch(uneven(40_000), count=40_000), batch(records())
    with Connection(watched.bootstrap, timeout=60.0) as connection:
        make_topic(connection, name)
        send(connection, name, [long])
        send(connection, name, [short])
    with Connection(watched.bootstrap, timeout=60.0) as connection:
        wait_until(lambda: watched.log(name).log_end_offset >= 40_000, 30.0, "the long batch")
        assert answers(connection, send(connection, name, [short])) == [OK]
    assert [header.records_count for _, header in watched.log(name).segments.active.headers(0)] in (
        [40_000, RECORDS],
        [40_000, RECORDS, RECORDS],
    )


def test_a_stop_gives_up_what_is_being_checked(tmp_path: Path, name: str) -> None:
    """It is not stored behind the end of the log that was closed, and nobody waits for it."""
    long = batch(uneven(100_000), count=100_000)
    with watched_broker(tmp_path / "data") as broker:
        with Connection(broker.bootstrap, timeout=60.0) as connection:
            make_topic(connection, name, max_message_bytes="5000000")
            log = broker.log(name)
            sent = send(connection, name, [long])
            wait_until(lambda: broker.broker is not None and broker.broker.context.turns.busy, 30.0, "the check")
            broker.stop()
            assert connection.closed_by_peer
        assert sent
        assert log.log_end_offset == 0
