"""Decisions of the authorizer: patterns, precedence, implication, persistence."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.broker.auth.acls import SUPPORTED_OPERATIONS, AclEntry, AclFilter, AclOperation, ResourceType
from oncelog.broker.auth.authorizer import Authorizer, parse_super_users
from support.acl_rules import ALICE, ALL, ALLOW, BOB, DENY, DESCRIBE, HERE, LITERAL, PREFIXED, READ, WRITE, authorizer, entry
from support.memory_store import MemoryStore, written

pytestmark = pytest.mark.unit


def may(made: Authorizer, operation: AclOperation = READ, name: str = "orders", principal: str = ALICE, host: str = HERE) -> bool:
    return made.authorize(principal, host, operation, ResourceType.TOPIC, name)


def test_nothing_is_allowed_without_a_rule() -> None:
    assert not may(authorizer())


def test_super_users_may_do_everything_even_against_a_deny() -> None:
    made = authorizer(entry(permission=DENY), super_users=(ALICE,))
    assert may(made)
    assert not may(made, principal=BOB)


@pytest.mark.parametrize(
    ("rule", "covered", "not_covered"),
    [
        (entry("orders"), "orders", "orders-2"),
        (entry("ord", pattern=PREFIXED), "orders", "or"),
        (entry("*"), "anything", None),
        # a prefixed star is the letter, not everything
        (entry("*", pattern=PREFIXED), "*x", "orders"),
    ],
)
def test_patterns(rule: AclEntry, covered: str, not_covered: str | None) -> None:
    made = authorizer(rule)
    assert may(made, name=covered)
    assert not_covered is None or not may(made, name=not_covered)


def test_principal_and_host_must_match() -> None:
    made = authorizer(entry(host=HERE))
    assert may(made)
    assert not may(made, host="10.0.0.2")
    assert not may(made, principal=BOB)
    assert may(authorizer(entry(principal="User:*")), principal=BOB)


@pytest.mark.parametrize("order", list(itertools.permutations([entry(permission=ALLOW), entry("ord", permission=DENY, pattern=PREFIXED)])))
def test_deny_wins_in_any_order(order: tuple[AclEntry, ...]) -> None:
    assert not may(authorizer(*order))


@pytest.mark.parametrize("operation", [READ, WRITE, AclOperation.DELETE, AclOperation.ALTER])
def test_describe_is_implied_by_an_allow_and_not_denied_by_a_deny(operation: AclOperation) -> None:
    assert may(authorizer(entry(operation=operation)), DESCRIBE)
    assert may(authorizer(entry(operation=DESCRIBE), entry(operation=operation, permission=DENY)), DESCRIBE)


def test_all_stands_for_every_operation() -> None:
    assert all(may(authorizer(entry(operation=ALL)), operation) for operation in SUPPORTED_OPERATIONS[ResourceType.TOPIC])
    assert not may(authorizer(entry(operation=READ), entry(operation=ALL, permission=DENY)))


def test_a_resource_without_rules_may_be_open_to_all() -> None:
    made = authorizer(entry("secret", principal=BOB), open_to_all=True)
    assert may(made, name="orders")
    assert not may(made, name="secret")
    assert may(made, name="secret", principal=BOB)


def test_rules_survive_a_restart_and_a_change_is_seen_at_once() -> None:
    store = MemoryStore()
    first = Authorizer(store)
    assert not may(first)
    first.begin_create(first.new([entry(), entry()]), written)
    assert first.new([entry()]) == {}
    assert may(first)
    second = Authorizer(store)
    assert may(second)
    found = second.matching(AclFilter(name="orders"))
    assert list(found.values()) == [entry()]
    second.begin_delete(found, written)
    assert not may(second)
    assert store.sections == {"acls": {}}


def test_some_resource_is_enough_for_an_idempotent_producer() -> None:
    def any_of(*entries: AclEntry) -> bool:
        return authorizer(*entries).authorize_any(ALICE, HERE, WRITE, ResourceType.TOPIC)

    assert not any_of()
    assert any_of(entry(operation=WRITE))
    assert not any_of(entry(operation=WRITE), entry("*", WRITE, DENY))
    assert not any_of(entry(operation=WRITE), entry("ord", WRITE, DENY, pattern=PREFIXED))
    assert any_of(entry("ord", WRITE, pattern=PREFIXED), entry("orders", WRITE, DENY))
    assert any_of(entry("*", WRITE), entry("ord", WRITE, DENY, pattern=PREFIXED))


def test_super_users_are_separated_by_semicolons() -> None:
    assert parse_super_users("User:CN=a,O=b; User:c;") == {"User:CN=a,O=b", "User:c"}


RULES = st.builds(
    entry,
    st.sampled_from(["a", "ab", "abc", "*"]),
    st.sampled_from([READ, WRITE, DESCRIBE, ALL]),
    st.sampled_from([ALLOW, DENY]),
    pattern=st.sampled_from([LITERAL, PREFIXED]),
    principal=st.sampled_from([ALICE, BOB, "User:*"]),
)


@given(st.lists(RULES, max_size=6), st.sampled_from(["a", "ab", "abc", "b"]), st.sampled_from([READ, WRITE, DESCRIBE]), st.booleans())
def test_the_index_decides_as_the_plain_list_does(rules: list[AclEntry], name: str, operation: AclOperation, open_to_all: bool) -> None:
    about = [rule for rule in rules if rule.pattern.covers(name)]
    mine = [rule for rule in about if rule.is_for(ALICE, HERE)]
    denied = any(rule.permission is DENY and rule.names(operation) for rule in mine)
    allowed = any(rule.permission is ALLOW and rule.implies(operation) for rule in mine)
    expected = not denied and (allowed or (open_to_all and not about))
    assert may(authorizer(*rules, open_to_all=open_to_all), operation, name) == expected
