"""CreateAcls, and DescribeAcls and DeleteAcls of what it made."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.authorizer import Authorizer
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.administered import Harness

pytestmark = pytest.mark.unit


def test_rules_are_created_described_and_deleted(broker: Harness) -> None:
    broker.broker.authorizer = Authorizer(broker.store, ("User:ANONYMOUS",))
    creation = messages.CreateAclsRequest.AclCreation
    rule = {"resource_type": 2, "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    named = (("x", 3), ("pre", 4), ("", 3), ("y", 2))
    asked = [creation(resource_name=name, resource_pattern_type=pattern, **rule) for name, pattern in named]
    results = broker.send(ApiKey.CREATE_ACLS, 3, messages.CreateAclsRequest(creations=asked)).results
    assert [result.error_code for result in results] == [0, 0, 42, 42]
    every = {"resource_name_filter": None, "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    described = broker.send(ApiKey.DESCRIBE_ACLS, 3, messages.DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, **every))
    assert [(found.resource_name, found.pattern_type, len(found.acls)) for found in described.resources] == [("pre", 4, 1), ("x", 3, 1)]
    wanted = messages.DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=1, pattern_type_filter=1, **every)
    (deleted,) = broker.send(ApiKey.DELETE_ACLS, 3, messages.DeleteAclsRequest(filters=[wanted])).filter_results
    assert len(deleted.matching_acls) == 2
    assert broker.store.sections["acls"] == {}
