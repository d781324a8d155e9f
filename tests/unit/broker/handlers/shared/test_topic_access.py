"""The operations that answers tell a client it may do."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.auth.acls import ResourceType
from oncelog.broker.handlers.shared.topic_access import authorized_operations
from support.acl_rules import ALICE, HERE, authorizer

pytestmark = pytest.mark.unit


def test_operations_of_a_super_user_as_kafka_sums_them() -> None:
    made = authorizer(super_users=(ALICE,))
    asked: Any = SimpleNamespace(sees=partial(made.authorize, ALICE, HERE))
    assert authorized_operations(asked, ResourceType.TOPIC, "t") == 3576
    assert authorized_operations(asked, ResourceType.CLUSTER) == 8096
