"""Features of the cluster: their ranges, levels, and whom they are told."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.features import METADATA_VERSION, features, supported

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
@pytest.mark.parametrize("group_version", [0, 1])
def test_levels_are_those_given_and_within_the_range(transaction_version: int, group_version: int) -> None:
    found = features(transaction_version=transaction_version, group_version=group_version, share_version=1, streams_version=1)
    levels = {feature.name: feature.level for feature in found}
    assert (levels["transaction.version"], levels["group.version"]) == (transaction_version, group_version)
    assert levels["share.version"] == 1
    assert levels["kraft.version"] == 0  # the one voter is fixed
    assert all(feature.level == 0 or feature.min_version <= feature.level <= feature.max_version for feature in found)
    assert len(levels) == len(found)


@pytest.mark.parametrize(("api_version", "all_of_them"), [(0, False), (3, False), (4, True)])
def test_old_clients_cannot_read_a_minimum_of_0(api_version: int, all_of_them: bool) -> None:
    found = features(transaction_version=2, group_version=1, share_version=1, streams_version=1)
    told = supported(found, api_version)
    assert told == (found if all_of_them else [feature for feature in found if feature.name == METADATA_VERSION])
