"""Numbered transaction cases that need a process: restarts with damage, SASL and ACLs, short expiry, an operator's abort."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.records import build_batch, iter_headers
from support.damage import Partition
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.wire import Connection

BUSY = {E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_LEADER_OR_FOLLOWER}
SMALL = {"segment.bytes": "1048576", "internal.segment.bytes": "2500"}


class Client:
    """Requests by name on one connection."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.connection = Connection(broker.bootstrap)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        return self.connection.request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))

    def authenticate(self, user: str) -> None:
        assert self.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == 0
        assert self.ask(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=f"\0{user}\0secret".encode()).error_code == 0

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        made = [{"name": name, "value": value} for name, value in configs.items()]
        topics = [{"name": topic, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": made}]
        answer = self.ask(ApiKey.CREATE_TOPICS, 5, topics=topics, timeout_ms=10_000, validate_only=False)
        assert answer.topics[0].error_code == 0, answer

    def init(self, id: str | None, timeout_ms: int = 60_000, pair: tuple[int, int] = (-1, -1)) -> tuple[int, int]:
        def once() -> Any:
            answer = self.ask(
                ApiKey.INIT_PRODUCER_ID,
                4,
                transactional_id=id,
                transaction_timeout_ms=timeout_ms,
                producer_id=pair[0],
                producer_epoch=pair[1],
            )
            return None if E(answer.error_code) in BUSY else answer

        answer = wait_until(once)
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch

    def produce(self, topic: str, pair: tuple[int, int] = (-1, -1), sequence: int = -1, id: str | None = None) -> tuple[E, int]:
        """(error, offset) of one record of 300 bytes."""
        batch = build_batch(
            [(int(time.time() * 1000), b"k", b"v" * 300)],
            producer_id=pair[0],
            producer_epoch=pair[1],
            base_sequence=sequence,
            is_transactional=id is not None,
        )
        topics = [{"name": topic, "partition_data": [{"index": 0, "records": bytes(batch)}]}]
        answer = self.ask(ApiKey.PRODUCE, 12, transactional_id=id, acks=-1, timeout_ms=5000, topic_data=topics)
        partition = answer.responses[0].partition_responses[0]
        return E(partition.error_code), partition.base_offset

    def end(self, id: str, pair: tuple[int, int], commit: bool) -> Any:
        def once() -> Any:
            answer = self.ask(ApiKey.END_TXN, 5, transactional_id=id, producer_id=pair[0], producer_epoch=pair[1], committed=commit)
            return None if E(answer.error_code) in BUSY else answer

        return wait_until(once)

    def fetch(self, topic: str, offset: int = 0) -> Any:
        wanted = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}]
        answer = self.ask(
            ApiKey.FETCH,
            11,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=1,
            session_id=0,
            session_epoch=-1,
            topics=wanted,
        )
        return answer.responses[0].partitions[0]

    def aborted(self, topic: str, offset: int) -> list[tuple[int, int]]:
        """Beside records: while indexes that were lost are made again, a Fetch that does not wait gets none."""

        def once() -> Any:
            answer = self.fetch(topic, offset)
            return answer if answer.records else None

        return [(each.producer_id, each.first_offset) for each in wait_until(once).aborted_transactions or []]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
def test_case_66_batches_are_recognised_after_a_restart(own_broker: BrokerProcess, clean: bool) -> None:
    """The last and the third newest; Kafka knows the last only."""
    with Client(own_broker) as client:
        client.create("t")
        pair = client.init(None)
        assert [client.produce("t", pair, n) for n in range(6)] == [(E.NONE, n) for n in range(6)]
    own_broker.stop() if clean else own_broker.kill()
    own_broker.start()
    with Client(own_broker) as client:
        assert client.produce("t", pair, 5) == (E.NONE, 5)
        assert client.produce("t", pair, 3) == (E.NONE, 3)
        assert client.produce("t", pair, 0)[0] is E.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert client.produce("t", pair, 6) == (E.NONE, 6)


@pytest.mark.parametrize("damage", ["index", "snapshot"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
def test_cases_79_80_abort_over_segments_survives_lost_files(own_broker: BrokerProcess, clean: bool, damage: str) -> None:
    with Client(own_broker) as client:
        client.create("t", **SMALL)
        pair = client.init("x")
        for sequence in range(20):
            assert client.produce("t", pair, sequence, "x")[0] is E.NONE
        answer = client.end("x", pair, commit=False)
        assert answer.error_code == 0
        end = client.fetch("t").high_watermark
        assert client.aborted("t", 0) == [(pair[0], 0)]
        idempotent = client.init(None)
        assert client.produce("t", idempotent, 0) == (E.NONE, end)
    own_broker.stop() if clean else own_broker.kill()
    place = Partition(own_broker.data_dir, "t-0")
    assert len(list(place.path.glob("*.log"))) >= 3
    for path in list(place.path.glob(f"*{damage}")):
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1])) if damage == "snapshot" and path.stat().st_size else path.unlink()
    own_broker.start()
    with Client(own_broker) as client:
        for offset in (0, 10, 19):
            assert client.aborted("t", offset) == [(pair[0], 0)]
        seen = client.fetch("t", end)
        assert seen.last_stable_offset == seen.high_watermark == end + 1
        assert client.produce("t", idempotent, 0) == (E.NONE, end)
        assert client.produce("t", (answer.producer_id, answer.producer_epoch), 0, "x")[0] is E.NONE


def test_cases_50_51_restart_between_the_steps_of_an_end(own_broker: BrokerProcess) -> None:
    """50: the markers are there, Complete is not. 51: nothing was decided; the timeout aborts. Made by cutting what the kill had left."""
    with Client(own_broker) as client:
        client.create("t")
        client.create("u")
        ended, undecided = client.init("half-ended"), client.init("undecided", timeout_ms=1500)
        assert client.produce("t", ended, 0, "half-ended")[0] is E.NONE
        assert client.end("half-ended", ended, commit=True).error_code == 0
        assert client.produce("u", undecided, 0, "undecided")[0] is E.NONE
    own_broker.kill()
    cut_last_batch(own_broker.data_dir, b"half-ended")
    own_broker.start()
    with Client(own_broker) as client:
        told = client.end("half-ended", ended, commit=True)
        assert (told.error_code, told.producer_id, told.producer_epoch) == (0, ended[0], ended[1] + 1)
        raw = bytes(client.fetch("t").records)
        assert [header.is_control for _, header in iter_headers(raw)] == [False, True]
        seen = wait_until(lambda: (got := client.fetch("u")).last_stable_offset == got.high_watermark and got)
        assert [(each.producer_id, each.first_offset) for each in seen.aborted_transactions] == [(undecided[0], 0)]
        assert client.end("undecided", undecided, commit=True).error_code == E.INVALID_TXN_STATE


def cut_last_batch(data_dir: Path, key: bytes) -> None:
    """Remove the last batch, which names a transactional id, from a log of `__transaction_state`."""
    for path in data_dir.glob("__transaction_state-*/*.log"):
        data = path.read_bytes()
        batches = [(position, data[position : position + header.size_bytes]) for position, header in iter_headers(data)]
        if batches and key in batches[-1][1]:
            path.write_bytes(data[: batches[-1][0]])
            for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
                (data_dir / name).unlink(missing_ok=True)
            return
    raise AssertionError(f"no batch of {key!r}")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[BrokerProcess]:
    """SASL/PLAIN and ACLs: `root` may everything, `bob` nothing."""
    overrides = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": 'org.x.PlainLoginModule required user_root="secret" user_bob="secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root",
    }
    with BrokerProcess(tmp_path / "data", overrides) as process:
        yield process


def test_cases_28_72_cluster_action_is_needed(guarded: BrokerProcess) -> None:
    """28: AddPartitionsToTxn v4 is told 31 as a whole. 72: WriteTxnMarkers 31 on every partition."""
    transactions = [
        {"transactional_id": "x", "producer_id": 1, "producer_epoch": 0, "verify_only": True, "topics": [{"name": "t", "partitions": [0]}]}
    ]
    markers = [
        {
            "producer_id": 1,
            "producer_epoch": 0,
            "transaction_result": False,
            "coordinator_epoch": 0,
            "topics": [{"name": "t", "partition_indexes": [0]}],
        }
    ]
    refused, allowed = int(E.CLUSTER_AUTHORIZATION_FAILED), int(E.NONE)
    with Client(guarded) as root:
        root.authenticate("root")
        root.create("t")
        for user, expected in (("bob", refused), ("root", allowed)):
            with Client(guarded) as client:
                client.authenticate(user)
                assert client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 4, transactions=transactions).error_code == expected
                answer = client.ask(ApiKey.WRITE_TXN_MARKERS, 1, markers=markers)
                assert answer.markers[0].topics[0].partitions[0].error_code == expected
        assert root.fetch("t").high_watermark == 1


def test_case_48_an_idle_id_expires(tmp_path: Path) -> None:
    overrides = {"transactional.id.expiration.ms": "1000", "transaction.remove.expired.transaction.cleanup.interval.ms": "200"}
    with BrokerProcess(tmp_path / "data", overrides) as process, Client(process) as client:
        client.create("t")
        pair = client.init("idle")
        topics = [{"name": "t", "partitions": [0]}]

        def gone() -> bool:
            return not client.ask(ApiKey.LIST_TRANSACTIONS, 0, state_filters=[], producer_id_filters=[]).transaction_states

        wait_until(gone, what="the expiry")
        answer = client.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id="idle",
            v3_and_below_producer_id=pair[0],
            v3_and_below_producer_epoch=pair[1],
            v3_and_below_topics=topics,
        )
        assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == E.INVALID_PRODUCER_ID_MAPPING
        fresh = client.init("idle", pair=pair)
        assert fresh[0] != pair[0]
        assert fresh[1] == 0


def test_case_93_hanging_transaction_is_found_and_aborted(tmp_path: Path) -> None:
    """Made as it comes about: verification is off, so a late batch opens a transaction that no coordinator knows."""
    overrides = {"transaction.partition.verification.enable": "false"}

    def oncelog(*words: str) -> Any:
        command = [sys.executable, "-m", "oncelog.broker", "txn", *words, "--bootstrap", process.bootstrap, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return json.loads(done.stdout)

    with BrokerProcess(tmp_path / "data", overrides) as process, Client(process) as client:
        client.create("t")
        assert client.produce("t")[0] is E.NONE
        batch = build_batch(
            [(int(time.time() * 1000) - 16 * 60_000, b"k", b"late")],
            producer_id=4711,
            producer_epoch=3,
            base_sequence=0,
            is_transactional=True,
        )
        topics = [{"name": "t", "partition_data": [{"index": 0, "records": bytes(batch)}]}]
        answer = client.ask(ApiKey.PRODUCE, 11, transactional_id="expired", acks=-1, timeout_ms=5000, topic_data=topics)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert client.fetch("t").last_stable_offset == 1
        (row,) = oncelog("hanging")
        assert (row["Topic"], row["ProducerId"], row["StartOffset"]) == ("t", 4711, 1)
        oncelog("abort", "t", "0", "--start-offset", "1", "--yes")
        seen = client.fetch("t")
        assert seen.last_stable_offset == seen.high_watermark == 3
        assert client.aborted("t", 0) == [(4711, 1)]
        assert oncelog("hanging") == []
