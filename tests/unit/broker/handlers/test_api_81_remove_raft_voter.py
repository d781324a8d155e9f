"""RemoveRaftVoter: the voters of the quorum are fixed."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
VOTER = {"cluster_id": None, "voter_id": 2, "voter_directory_id": uuid.UUID(int=1)}


@pytest.mark.parametrize("version", [0])
def test_kraft_version_0_has_fixed_voters(whole: WholeBroker, version: int) -> None:
    answer = whole.ask(ApiKey.REMOVE_RAFT_VOTER, version, **VOTER)
    why = "Cluster doesn't support removing voter because the kraft.version feature is 0"
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNSUPPORTED_VERSION, why)


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    assert whole.ask(ApiKey.REMOVE_RAFT_VOTER, 0, **VOTER).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
