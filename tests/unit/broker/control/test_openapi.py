"""The descriptions tell of every route, and nothing else."""

from __future__ import annotations

import json
import re

import pytest
from oncelog.broker.control.openapi import document, page
from oncelog.broker.control.routes import ROUTES
from oncelog.broker.faults.rule import ACTIONS, parse_rule

pytestmark = pytest.mark.unit
DOCUMENT = document(ROUTES, "1.2.3")


def test_every_route_once() -> None:
    told = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert told == {(route.method, route.path) for route in ROUTES}
    assert len(told) == len(ROUTES)
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


def test_references_lead_somewhere() -> None:
    text = json.dumps(DOCUMENT)
    for name in re.findall(r'"#/components/schemas/(\w+)"', text):
        assert name in DOCUMENT["components"]["schemas"]
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            assert ("{id}" in path) == ("parameters" in operation)


def test_the_example_is_a_rule() -> None:
    example = DOCUMENT["paths"]["/v1/faults"]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert parse_rule("r", example).action.type in ACTIONS
    assert DOCUMENT["components"]["schemas"]["Rule"]["properties"]["action"]["properties"]["type"]["enum"] == list(ACTIONS)


def test_only_health_is_open_to_all() -> None:
    without = {path for path, methods in DOCUMENT["paths"].items() for operation in methods.values() if "security" not in operation}
    assert without == {"/livez", "/readyz"}


def test_the_page_names_every_route_and_loads_nothing() -> None:
    told = page(ROUTES)
    assert all(route.path in told for route in ROUTES)
    assert not re.search(r"<script|src=|@import|https?://", told)
