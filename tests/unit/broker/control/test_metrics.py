"""What is told is so, and Prometheus can read it."""

from __future__ import annotations

import re

import pytest
from oncelog.broker.control import metrics
from oncelog.broker.control.counting import BOUNDS, Latencies
from oncelog.broker.testkit import Broker
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit
SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,(?=[a-z])|(?=\})))+\})? (-?[0-9.e+-]+)')
PLACE = TopicPartition("a", 1)


def text_of(broker: Broker) -> str:
    return broker._call(lambda: "".join(metrics.pieces(broker._life)))


def samples(text: str) -> dict[str, float]:
    """Every line, strictly: families have a head once, before their samples, and no sample is there twice."""
    found: dict[str, float] = {}
    kinds: dict[str, str] = {}
    family = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family
            kinds[name] = kind
        elif line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in kinds
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            suffixes = ("_bucket", "_sum", "_count") if kinds[family] == "histogram" else ("",)
            assert sample[1] in [family + suffix for suffix in suffixes], line
            assert (kinds[family] == "counter") == sample[1].endswith("_total")
            assert sample[1] + (sample[2] or "") not in found
            found[sample[1] + (sample[2] or "")] = float(sample[3])
    return found


def test_an_open_transaction_and_its_end() -> None:
    with Broker() as broker:
        broker.create_topic("a", 2)
        with Client(broker.bootstrap) as client:
            pair = client.init("t")
            client.produce(TV2, "t", pair, 0, PLACE, b"x")
            client.produce(TV2, "t", pair, 1, PLACE, b"y")
            told = samples(text_of(broker))
            place = '{topic="a",partition="1"}'
            assert told["oncelog_up"] == 1
            assert told["oncelog_log_end_offset" + place] == 2
            assert told["oncelog_last_stable_offset_lag" + place] == 2
            assert told["oncelog_producers" + place] == 1
            assert told["oncelog_log_offline" + place] == 0
            assert told['oncelog_transactional_ids{state="Ongoing"}'] == 1
            assert told['oncelog_requests_total{api="Produce"}'] == 2
            assert told['oncelog_requests_total{api="InitProducerId"}'] == 1
            assert told['oncelog_connections{listener="PLAINTEXT"}'] == 1
            assert told["oncelog_syncs_total"] > 0
            client.end(TV2, "t", pair, True)
            ended = samples(text_of(broker))
        assert ended["oncelog_last_stable_offset_lag" + place] == 0
        assert ended['oncelog_transactional_ids{state="CompleteCommit"}'] == 1
        assert ended["oncelog_syncs_total"] > told["oncelog_syncs_total"]


def test_rules_and_their_hits() -> None:
    with Broker() as broker:
        rule = broker.faults.add(api="InitProducerId", action={"type": "error", "code": "COORDINATOR_LOAD_IN_PROGRESS"})
        with Client(broker.bootstrap) as client:
            client.init("t")
        told = samples(text_of(broker))
        assert told["oncelog_fault_rules"] == 1
        assert told[f'oncelog_fault_rule_hits{{rule="{rule.id}",action="error"}}'] == 1


def test_errors_by_api_and_who_was_fenced() -> None:
    with Broker() as broker:
        broker.create_topic("a", 2)
        with Client(broker.bootstrap) as client:
            old = client.init("t")
            client.init("t")
            assert client.end(TV2, "t", old, True)[0] is ErrorCode.PRODUCER_FENCED
            code = client.produce(TV2, "t", old, 0, PLACE, b"x")
        told = samples(text_of(broker))
        assert told['oncelog_errors_total{api="EndTxn",error="PRODUCER_FENCED"}'] == 1
        assert told[f'oncelog_errors_total{{api="Produce",error="{code.name}"}}'] == 1
        assert told['oncelog_fenced_total{api="Produce"}'] == 1
        assert told['oncelog_fenced_total{api="EndTxn"}'] == 1
        assert not any("NONE" in name for name in told)
        broker.restart()
        assert samples(text_of(broker))['oncelog_fenced_total{api="EndTxn"}'] == 1


def test_while_it_is_down_only_that_is_told_and_what_outlasts_it() -> None:
    with Broker() as broker:
        broker.crash()
        told = samples(text_of(broker))
        assert told["oncelog_up"] == 0
        assert not any(name.startswith("oncelog_log") for name in told)
        broker.restart()


def test_buckets_add_up() -> None:
    with Broker() as broker:
        latencies = broker._life.counts.latencies[26] = Latencies()
        for seconds in (0.0, BOUNDS[0], BOUNDS[3], BOUNDS[-1] + 1):
            latencies.add(seconds)
        told = samples(text_of(broker).replace('"+Inf"', '"inf"'))
        buckets = [told[f'oncelog_request_seconds_bucket{{api="EndTxn",le="{bound}"}}'] for bound in (*BOUNDS, "inf")]
        assert buckets == sorted(buckets)
        assert (buckets[0], buckets[2], buckets[3], buckets[-2], buckets[-1]) == (2, 2, 3, 3, 4)
        assert told['oncelog_request_seconds_count{api="EndTxn"}'] == 4
        assert told['oncelog_request_seconds_sum{api="EndTxn"}'] == pytest.approx(BOUNDS[0] + BOUNDS[3] + BOUNDS[-1] + 1)


def test_many_partitions_are_told_in_pieces() -> None:
    with Broker() as broker:
        broker.create_topic("a", 1200)

        def tell() -> list[str]:
            for partition in range(1200):
                broker._life.running.logs.log(TopicPartition("a", partition))
            return list(metrics.pieces(broker._life))

        pieces = broker._call(tell)
    assert max(piece.count("\n") for piece in pieces) <= 500
    assert sum(piece.count("oncelog_log_end_offset{") for piece in pieces) == 1200


def test_what_a_label_may_hold() -> None:
    assert metrics._labels(topic='a"b\\c\nd') == '{topic="a\\"b\\\\c\\nd"}'
