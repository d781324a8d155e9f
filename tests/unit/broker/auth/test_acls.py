"""Which rules a filter finds."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclFilter, PatternType, ResourceType
from support.acl_rules import ALLOW, BOB, LITERAL, PREFIXED, WRITE, authorizer, entry

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), 3),
        (AclFilter(pattern_type=PatternType.MATCH, name="orders"), 3),
        (AclFilter(pattern_type=PatternType.MATCH, name="other"), 1),
        (AclFilter(pattern_type=LITERAL, name="orders"), 1),
        (AclFilter(pattern_type=PREFIXED), 1),
        (AclFilter(principal=BOB), 0),
        (AclFilter(resource_type=ResourceType.GROUP), 0),
        (AclFilter(operation=WRITE), 0),
        (AclFilter(permission=ALLOW, host="*"), 3),
    ],
)
def test_filters(wanted: AclFilter, found: int) -> None:
    made = authorizer(entry("orders"), entry("ord", pattern=PREFIXED), entry("*"))
    assert len(made.describe(wanted)) == found
