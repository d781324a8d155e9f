"""Client quotas: of which entities, by which keys, and how they are found again."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.client_quotas import DEFAULT, EXACT, SPECIFIED, ClientQuotas, Component
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.memory_store import MemoryStore, written

pytestmark = pytest.mark.unit
Entity = list[tuple[str, str | None]]
USER: Entity = [("user", "u")]
BOTH: Entity = [("user", None), ("client-id", "c")]
ADDRESS: Entity = [("ip", "10.0.0.1")]


@pytest.fixture
def quotas() -> ClientQuotas:
    return ClientQuotas(MemoryStore())


def found(quotas: ClientQuotas, *wanted: Component, strict: bool = False) -> set[tuple[tuple[str, str | None], ...]]:
    return {entity for entity, _ in quotas.describe(wanted, strict)}


def refusal(quotas: ClientQuotas, entity: Entity, **changes: float | None) -> str:
    before = quotas.describe([], False)
    with pytest.raises(KafkaError) as refused:
        quotas.begin_alter(entity, changes, written)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert quotas.describe([], False) == before
    return str(refused.value.message)


def test_kept_altered_and_removed(quotas: ClientQuotas) -> None:
    quotas.begin_alter(USER, {"producer_byte_rate": 10.0, "request_percentage": 0.5}, written)
    quotas.begin_alter(USER, {"producer_byte_rate": 20.0, "consumer_byte_rate": None}, written)
    assert quotas.describe([], False) == [((("user", "u"),), {"producer_byte_rate": 20.0, "request_percentage": 0.5})]
    quotas.begin_alter(USER, {"producer_byte_rate": None, "request_percentage": None}, written)
    assert quotas.describe([], False) == []


def test_another_object_on_the_same_store_knows_them() -> None:
    store = MemoryStore()
    ClientQuotas(store).begin_alter(BOTH, {"controller_mutation_rate": 2.5}, written)
    assert ClientQuotas(store).describe([], False) == [((("client-id", "c"), ("user", None)), {"controller_mutation_rate": 2.5})]


def test_the_order_of_an_entitys_parts_does_not_count(quotas: ClientQuotas) -> None:
    quotas.begin_alter(BOTH, {"producer_byte_rate": 1.0}, written)
    quotas.begin_alter(BOTH[::-1], {"producer_byte_rate": 2.0}, written)
    assert [values for _, values in quotas.describe([], False)] == [{"producer_byte_rate": 2.0}]


def test_validation_alone_keeps_nothing(quotas: ClientQuotas) -> None:
    quotas.begin_alter(USER, {"producer_byte_rate": 1.0}, written, validate_only=True)
    assert quotas.describe([], False) == []


@pytest.mark.parametrize(
    ("entity", "why"),
    [
        ([], "Invalid empty client quota entity"),
        ([("planet", "x")], "Unhandled client quota entity type: planet"),
        ([("user", "")], "Empty user not supported"),
        ([("ip", "")], "Empty ip not supported"),
        ([("ip", "a b")], "a b is not a valid IP or resolvable host."),
        ([("ip", "-host")], "-host is not a valid IP or resolvable host."),
        ([*ADDRESS, ("user", "u")], "IP entity should not be combined with User or ClientId"),
    ],
    ids=str,
)
def test_entities_that_are_none(quotas: ClientQuotas, entity: Entity, why: str) -> None:
    assert refusal(quotas, entity, connection_creation_rate=1.0).endswith(why)


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", "fe80::1%2", "host.example", "h", None])
def test_addresses(quotas: ClientQuotas, address: str | None) -> None:
    quotas.begin_alter([("ip", address)], {"connection_creation_rate": 1.0}, written)
    assert found(quotas) == {(("ip", address),)}


@pytest.mark.parametrize(
    ("entity", "key", "value", "why"),
    [
        (USER, "no_such_rate", 1.0, "Invalid configuration key no_such_rate"),
        (USER, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (ADDRESS, "producer_byte_rate", 1.0, "Invalid configuration key producer_byte_rate"),
        (USER, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        (USER, "request_percentage", -0.5, "Quota request_percentage must be greater than 0"),
        (USER, "consumer_byte_rate", 1.5, "consumer_byte_rate cannot be a fractional value."),
        (ADDRESS, "connection_creation_rate", 0.5, "connection_creation_rate cannot be a fractional value."),
    ],
)
def test_values(quotas: ClientQuotas, entity: Entity, key: str, value: float, why: str) -> None:
    assert refusal(quotas, entity, **{key: value}) == why


def test_what_is_within_a_rounding_error_of_a_whole_number(quotas: ClientQuotas) -> None:
    quotas.begin_alter(USER, {"producer_byte_rate": 10.0000001}, written)
    assert refusal(quotas, USER, producer_byte_rate=10.00001) == "producer_byte_rate cannot be a fractional value."


@pytest.mark.parametrize(
    ("wanted", "strict", "names"),
    [
        ([], False, {"user", "both", "ip"}),
        ([], True, set()),
        ([Component("user", EXACT, "u")], False, {"user"}),
        ([Component("user", EXACT, "x")], False, set()),
        ([Component("user", DEFAULT, None)], False, {"both"}),
        ([Component("user", SPECIFIED, None)], False, {"user", "both"}),
        ([Component("user", SPECIFIED, None)], True, {"user"}),
        ([Component("user", SPECIFIED, None), Component("client-id", EXACT, "c")], True, {"both"}),
        ([Component("ip", SPECIFIED, None)], False, {"ip"}),
    ],
    ids=str,
)
def test_conditions(quotas: ClientQuotas, wanted: list[Component], strict: bool, names: set[str]) -> None:
    entities = {"user": USER, "both": BOTH, "ip": ADDRESS}
    for name, entity in entities.items():
        quotas.begin_alter(entity, {"connection_creation_rate" if name == "ip" else "producer_byte_rate": 1.0}, written)
    assert found(quotas, *wanted, strict=strict) == {tuple(sorted(entities[name])) for name in names}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ([Component("", SPECIFIED, None)], ErrorCode.INVALID_REQUEST),
        ([Component("planet", SPECIFIED, None)], ErrorCode.UNSUPPORTED_VERSION),
        ([Component("user", SPECIFIED, None)] * 2, ErrorCode.INVALID_REQUEST),
        ([Component("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", SPECIFIED, "u")], ErrorCode.INVALID_REQUEST),
        ([Component("user", DEFAULT, "u")], ErrorCode.INVALID_REQUEST),
        ([Component("ip", SPECIFIED, None), Component("user", SPECIFIED, None)], ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_conditions_that_are_none(quotas: ClientQuotas, wanted: list[Component], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        quotas.describe(wanted, False)
    assert refused.value.code is code
