"""ApiVersions: the table, its form in each version, and what it says to a client that is too new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.sasl import SaslPhase, SaslState
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.api_18_api_versions import handle
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.primitives import MalformedRequest
from support.sasl_states import settings
from support.whole_broker import Connection, WholeBroker

pytestmark = pytest.mark.unit
SOFTWARE = {"client_software_name": "c", "client_software_version": "1.0"}


def ask(whole: WholeBroker, version: int, connection: Connection | None = None) -> Any:
    return whole.ask(ApiKey.API_VERSIONS, version, connection=connection, **(SOFTWARE if version >= 3 else {}))


@pytest.mark.parametrize("version", range(5))
def test_the_table_is_what_handlers_declare(whole: WholeBroker, version: int) -> None:
    answer = ask(whole, version)
    assert answer.error_code == ErrorCode.NONE
    told = [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys]
    assert told == whole.context.apis.advertised()
    assert (ApiKey.API_VERSIONS, 0, 4) in told


def test_features_whose_minimum_is_0_are_told_from_version_4(whole: WholeBroker) -> None:
    three, four = ask(whole, 3), ask(whole, 4)
    assert [feature.name for feature in three.supported_features] == ["metadata.version"]
    minima = {feature.name: feature.min_version for feature in four.supported_features}
    assert (minima["metadata.version"], minima["transaction.version"], minima["group.version"]) == (7, 0, 0)
    assert (three.finalized_features_epoch, four.finalized_features_epoch) == (1, 1)


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_levels_in_force(wholes: Callable[..., WholeBroker], transaction_version: int) -> None:
    whole = wholes(settings={"transaction.version": str(transaction_version)})
    levels = {feature.name: feature.max_version_level for feature in ask(whole, 4).finalized_features}
    assert levels.get("transaction.version", 0) == transaction_version


def test_a_version_above_ours_learns_the_range_in_version_0(whole: WholeBroker) -> None:
    ctx = RequestContext(whole.context, whole.connection, -1, "client", 0)  # type: ignore[arg-type]
    body = b"".join(handle(memoryview(b"whatever"), ctx))
    answer = messages.decode_response(ApiKey.API_VERSIONS, 0, memoryview(body))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(
    ("name", "version", "error"),
    [
        ("librdkafka", "2.0.2-RC1", 0),
        ("a", "1", 0),
        ("", "1", 42),
        ("c", "", 42),
        ("-c", "1", 42),
        ("c.", "1", 42),
        ("c", "1 0", 42),
        ("ç", "1", 42),
    ],
)
def test_the_client_names_its_software(whole: WholeBroker, name: str, version: str, error: int) -> None:
    answer = whole.ask(ApiKey.API_VERSIONS, 3, client_software_name=name, client_software_version=version)
    assert (answer.error_code, bool(answer.api_keys)) == (error, not error)


@pytest.mark.parametrize("body", [b"", b"\0\0\0", b"\x02c\0\0", b"\x02c\x09short", b"\x09short"])
def test_software_that_is_not_there_is_malformed(whole: WholeBroker, body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        whole.begin_body(ApiKey.API_VERSIONS, 3, body)


def test_before_the_login_it_is_answered_once(whole: WholeBroker) -> None:
    state = SaslState(settings())
    refused = whole.ask(ApiKey.API_VERSIONS, 3, connection=Connection(sasl=state), client_software_name="", client_software_version="")
    assert (refused.error_code, state.phase) == (ErrorCode.INVALID_REQUEST, SaslPhase.INITIAL)  # an error does not count
    ask(whole, 3, Connection(sasl=state))
    assert state.phase is SaslPhase.VERSIONED
