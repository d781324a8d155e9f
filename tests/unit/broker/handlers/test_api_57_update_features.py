"""UpdateFeatures: the present level is fine; a change is refused, for the reason that comes first in Apache Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
UPGRADE, SAFE, UNSAFE = 1, 2, 3
TXN = "transaction.version"


def update(feature: str, level: int, kind: int = UPGRADE) -> dict[str, Any]:
    return {"feature": feature, "max_version_level": level, "upgrade_type": kind}


def ask(whole: WholeBroker, *updates: dict[str, Any], version: int = 1, validate_only: bool = False) -> Any:
    fields = {"validate_only": validate_only} if version >= 1 else {}
    return whole.ask(ApiKey.UPDATE_FEATURES, version, timeout_ms=1, feature_updates=list(updates), **fields)


@pytest.mark.parametrize("version", [1, 2])
def test_the_present_level(whole: WholeBroker, version: int) -> None:
    answer = ask(whole, update(TXN, 2), update("group.version", 1), update("metadata.version", 30), version=version)
    assert answer.error_code == ErrorCode.NONE
    told = [(result.feature, result.error_code) for result in answer.results]
    assert told == ([(TXN, 0), ("group.version", 0), ("metadata.version", 0)] if version < 2 else [])
    assert ask(whole, version=version).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (update(TXN, -1), "A feature version cannot be less than 0."),
        (update("no.such", 1), "Local controller 1 does not support this feature."),
        (update("", 1), "Local controller 1 does not support this feature."),
        (update(TXN, 3), "Local controller 1 only supports versions 0-2"),
        (update("metadata.version", 6), "Local controller 1 only supports versions 7-30"),
        (update(TXN, 1), "without setting the upgrade type to either safe or unsafe downgrade."),
        (update("kraft.version", 1, SAFE), "Can't downgrade to a newer version."),
        (update("metadata.version", 29, UNSAFE), "Unsupported metadata.version downgrade from 30 to 29."),
        (update(TXN, 1, SAFE), "The level of a feature follows from the broker's settings, it is 2."),
        (update("kraft.version", 1), "The level of a feature follows from the broker's settings, it is 0."),
    ],
    ids=str,
)
def test_one_that_is_wrong_fails_all(whole: WholeBroker, asked: dict[str, Any], why: str) -> None:
    answer = ask(whole, update("group.version", 1), asked)
    assert (answer.error_code, answer.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert answer.error_message.startswith("The update failed for all features since the following feature had an error: ")
    assert answer.error_message.endswith(why)


@pytest.mark.parametrize(("asked", "valid"), [(update(TXN, 1, SAFE), True), (update("kraft.version", 1), True), (update(TXN, 3), False)])
def test_only_validated(whole: WholeBroker, asked: dict[str, Any], valid: bool) -> None:
    answer = ask(whole, asked, validate_only=True)
    assert answer.error_code == (ErrorCode.NONE if valid else ErrorCode.INVALID_UPDATE_VERSION)


@pytest.mark.parametrize(("allowed", "why"), [(True, "it is 2."), (False, "either safe or unsafe downgrade.")])
def test_version_0_allows_a_downgrade_by_a_flag(whole: WholeBroker, allowed: bool, why: str) -> None:
    asked = {"feature": TXN, "max_version_level": 1, "allow_downgrade": allowed}
    assert ask(whole, asked, version=0).error_message.endswith(why)


def test_levels_are_those_of_the_settings(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"transaction.version": "1", "group.consumer.enable": "false"})
    assert ask(whole, update(TXN, 1), update("group.version", 0)).error_code == ErrorCode.NONE
    assert ask(whole, update(TXN, 2)).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    answer = ask(whole, update(TXN, 2))
    assert (answer.error_code, answer.results) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
