"""Each fencing and abort answer that the broker can give has a sentence, where it is given: in the log, to the inspector, in the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncelog.broker.net.causes import OF_GROUPS, OF_PRODUCE, TRANSACTIONAL
from oncelog.broker.net.told_causes import Cause
from oncelog.broker.testkit import Broker
from oncelog.coordinator.groups import causes as group_causes
from oncelog.coordinator.txn import causes as txn_causes
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.console_kit import FIRST, ID, Stuck, stuck_broker
from support.txn_client import TV0, TV2, Client, one_record

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[4]
FAMILY = re.compile(
    r"\w*FENCED\w*|CONCURRENT_TRANSACTIONS|INVALID_TXN_STATE|TRANSACTION_ABORTABLE|INVALID_PRODUCER_EPOCH|INVALID_PRODUCER_ID_MAPPING"
    r"|OUT_OF_ORDER_SEQUENCE_NUMBER|UNKNOWN_PRODUCER_ID|ILLEGAL_GENERATION|UNKNOWN_MEMBER_ID|REBALANCE_IN_PROGRESS|STALE_MEMBER_EPOCH"
    r"|UNRELEASED_INSTANCE_ID|DUPLICATE_SEQUENCE_NUMBER|INVALID_TRANSACTION_TIMEOUT"
)
# of the family by name only
OTHERS = {
    "FENCED_LEADER_EPOCH": "of leaders, told to consumers and replicas: nobody loses anything",
    "FENCED_STATE_EPOCH": "of share groups, whose state no transaction touches",
    "FENCED_EVENTS": "a name of ours",
}
# the sites, by folder or module, and by which APIs what they refuse is answered
ANSWERED_BY = {
    "coordinator/txn/": TRANSACTIONAL,
    "coordinator/groups/classic/": OF_GROUPS,
    "coordinator/groups/consumer/": OF_GROUPS,
    "coordinator/groups/streams/": OF_GROUPS,
    "coordinator/groups/offsets/": OF_GROUPS,
    "coordinator/groups/service.py": OF_GROUPS,
    "coordinator/groups/causes.py": OF_GROUPS,
    "storage/log/producer_checks.py": {ApiKey.PRODUCE, ApiKey.WRITE_TXN_MARKERS},
    "broker/handlers/produce/": {ApiKey.PRODUCE},
    "broker/handlers/api_00_produce.py": {ApiKey.PRODUCE},
    "broker/handlers/api_22_init_producer_id.py": {ApiKey.INIT_PRODUCER_ID},
    "broker/handlers/api_24_add_partitions_to_txn.py": {ApiKey.ADD_PARTITIONS_TO_TXN},
    "broker/handlers/api_25_add_offsets_to_txn.py": {ApiKey.ADD_OFFSETS_TO_TXN},
    "broker/handlers/api_26_end_txn.py": {ApiKey.END_TXN},
}
SHARE = "coordinator/groups/share/", "coordinator/groups/group_type.py", "coordinator/share/"


def sites() -> Iterator[tuple[str, str]]:
    """(module, code) of every code of the family that is named where answers are decided."""
    for folder in ("coordinator", "storage/log", "broker/handlers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Attribute) and node.attr in ErrorCode.__members__ and FAMILY.fullmatch(node.attr):
                    yield str(path.relative_to(ROOT)), node.attr


def test_every_site_is_of_an_api_whose_answers_are_looked_at_and_every_code_has_a_sentence() -> None:
    explained = {error.name for error in txn_causes.EXPLAINED | group_causes.EXPLAINED | OF_PRODUCE}
    found = sorted(set(sites()))
    assert len(found) > 30
    watched = TRANSACTIONAL | OF_GROUPS | {ApiKey.PRODUCE}
    for module, code in found:
        if module.startswith(SHARE) or code in OTHERS:
            continue
        owners = [apis for place, apis in ANSWERED_BY.items() if module.startswith(place)]
        assert owners, f"{module} refuses with {code}: which APIs answer that?"
        assert all(apis <= watched for apis in owners)
        assert code in explained, f"{module} refuses with {code}, for which nobody has a sentence"


class Told:
    """A broker whose causes are kept."""

    def __init__(self, stuck: Stuck) -> None:
        self.causes: list[Cause] = []
        stuck.broker._call(self._listen(stuck))

    def _listen(self, stuck: Stuck):  # type: ignore[no-untyped-def]
        def listen() -> None:
            stuck.broker._life.running.context.causes.listener = self.causes.append

        return listen

    def last(self) -> Cause:
        return self.causes[-1]


def test_a_fenced_producer_is_told_by_whom(caplog: pytest.LogCaptureFixture) -> None:
    with stuck_broker() as stuck, caplog.at_level("INFO"):
        told = Told(stuck)
        stuck.client.init(ID)
        assert [(each.kind, each.error) for each in told.causes[:2]] == [
            ("fenced", None),
            ("concurrent", ErrorCode.CONCURRENT_TRANSACTIONS),
        ]
        assert (told.causes[0].by_client_host, told.causes[0].epoch_before, told.causes[0].epoch_after) == ("127.0.0.1", 0, 1)
        for dialect in (TV0, TV2):
            stuck.client.end(dialect, ID, stuck.pair, True)
            end = told.last()
            assert (end.kind, end.error, end.api, end.transactional_id) == ("fenced", ErrorCode.PRODUCER_FENCED, "EndTxn", ID)
            assert "is at epoch 2 since wire at 127.0.0.1 asked for the id" in end.sentence
    assert any(end.sentence in record.message for record in caplog.records)


def test_a_produce_says_it_in_its_answer() -> None:
    with stuck_broker() as stuck:
        told = Told(stuck)
        pair = stuck.client.init(ID)
        for dialect, producer, sequence in ((TV0, stuck.pair, 9), (TV2, stuck.pair, 9), (TV0, pair, 0)):
            batch = one_record(producer, sequence, b"x")
            topics = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
            answer = stuck.client.ask(ApiKey.PRODUCE, dialect.produce, transactional_id=ID, acks=-1, timeout_ms=5000, topic_data=topics)
            part = answer.responses[0].partition_responses[0]
            assert part.error_code
            assert part.error_message == told.last().sentence
            assert told.last().place == FIRST
        assert stuck.client.send(TV0, None, FIRST, one_record((5, 0), 0, b"x", is_transactional=False))[0] is ErrorCode.NONE
        stuck.client.send(TV0, None, FIRST, one_record((5, 0), 7, b"x", is_transactional=False))
        assert (told.last().kind, told.last().error) == ("refused", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_what_ends_a_transaction_from_outside_or_by_its_time() -> None:
    with Broker(clock="virtual", control=True) as broker, Client(broker.bootstrap) as client:
        told = Told(Stuck(broker, client, (0, 0)))
        client.create("a", 1)
        place = TopicPartition("a", 0)
        pair = client.init("late")
        client.produce(TV2, "late", pair, 0, place, b"x")
        broker.clock.advance(901)
        assert (told.last().kind, told.last().sentence) == (
            "timeout",
            f"Producer {pair[0]} epoch 0 of late is fenced: its transaction was open for longer than transaction.timeout.ms=900000.",
        )
        pair = client.init("marked")
        client.produce(TV2, "marked", pair, 0, place, b"x")
        topics = [{"name": "a", "partition_indexes": [0]}]
        marker = {"producer_id": pair[0], "producer_epoch": 0, "transaction_result": False, "topics": topics, "coordinator_epoch": 0}
        client.ask(ApiKey.WRITE_TXN_MARKERS, 1, markers=[marker])
        assert (told.last().kind, "marker written from outside" in told.last().sentence) == ("aborted", True)
        client.ask(ApiKey.WRITE_TXN_MARKERS, 1, markers=[marker])
        assert (told.last().api, told.last().error) == ("WriteTxnMarkers", ErrorCode.INVALID_PRODUCER_EPOCH)


@pytest.mark.parametrize(
    ("api", "version", "fields", "error"),
    [
        (ApiKey.HEARTBEAT, 3, {"generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ApiKey.SYNC_GROUP, 3, {"generation_id": 1, "assignments": []}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, {"member_epoch": 4, "rebalance_timeout_ms": 1, "topic_partitions": []}, None),
    ],
)
def test_members_that_nobody_knows(api: ApiKey, version: int, fields: dict[str, object], error: ErrorCode | None) -> None:
    with stuck_broker() as stuck:
        told = Told(stuck)
        before = {"member_epoch": 0, "rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["orders"]}
        if error is None:
            stuck.client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, group_id="g", member_id="somebody", **before)
            assert (told.last().kind, "joined" in told.last().sentence) == ("rebalance", True)
        answer = stuck.client.ask(api, version, group_id="g", member_id="nobody", **fields)
        assert answer.error_code == (error or ErrorCode.UNKNOWN_MEMBER_ID)
        assert (told.last().group_id, told.last().member_id, told.last().api) == ("g", "nobody", api.schema_name)
        if error is None:
            assert answer.error_message == told.last().sentence
