"""Settings over the wire: what the arguments say, and which broker is asked."""

from __future__ import annotations

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.settings import BROKER, TOPIC, alter_settings, describe_settings, parse_settings_given
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


@pytest.fixture
def cluster(served: ServedBroker) -> Cluster:
    return Cluster(served.address)


@pytest.mark.parametrize(
    ("given", "found"),
    [([], {}), (["a=b"], {"a": "b"}), (["a=b=c", "d="], {"a": "b=c", "d": ""}), (["a=1", "a=2"], {"a": "2"})],
)
def test_arguments(given: list[str], found: dict[str, str]) -> None:
    assert parse_settings_given(given) == found


@pytest.mark.parametrize("text", ["a", "", "=b"])
def test_arguments_that_are_none(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings_given(["good=1", text])
    assert ended.value.code == 2
    assert f"{text!r} is not NAME=VALUE" in capsys.readouterr().err


def test_set_and_unset(served: ServedBroker, cluster: Cluster) -> None:
    with cluster:
        alter_settings(cluster, TOPIC, "t", {"retention.ms": "5", "segment.ms": "6"}, [])
        alter_settings(cluster, TOPIC, "t", {"segment.ms": "7"}, ["retention.ms"])
        rows = {row["name"]: row for row in describe_settings(cluster, TOPIC, "t")}
    assert served.whole.logs.topics.get("t").configs == {"segment.ms": "7"}  # type: ignore[union-attr]
    assert list(rows) == sorted(rows)
    assert rows["segment.ms"] == {"name": "segment.ms", "value": "7", "source": "topic", "read_only": False}
    assert rows["retention.ms"]["source"] == "default"


def test_documentation_when_asked_for(cluster: Cluster) -> None:
    with cluster:
        assert all(row["documentation"] for row in describe_settings(cluster, TOPIC, "t", documentation=True))


def test_a_secret_is_not_shown(served: ServedBroker, cluster: Cluster) -> None:
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult(name="p", value="leaked", is_sensitive=True, config_source=77)
    served.answers[ApiKey.DESCRIBE_CONFIGS] = lambda version, request: messages.DescribeConfigsResponse(results=[result(configs=[entry])])
    with cluster:
        assert describe_settings(cluster, BROKER, "") == [{"name": "p", "value": None, "source": "77", "read_only": False}]


def test_refusals_name_the_resource(cluster: Cluster) -> None:
    with cluster:
        for call in (lambda: describe_settings(cluster, TOPIC, "gone"), lambda: alter_settings(cluster, TOPIC, "gone", {"a": "b"}, [])):
            with pytest.raises(KafkaError, match="settings of gone: ") as refused:
                call()
            assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("7", "no broker with id 7"),  # nobody to ask
        ("-1", "settings of -1: Unexpected broker id"),  # not a number of a node: whoever is asked says so
        ("x", "settings of x: Broker id must be an integer"),
    ],
)
def test_settings_of_one_broker_are_asked_of_it(cluster: Cluster, name: str, why: str) -> None:
    with cluster:
        assert describe_settings(cluster, BROKER, "1")
        with pytest.raises(KafkaError, match=why):
            describe_settings(cluster, BROKER, name)
