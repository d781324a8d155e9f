"""Who may ask what: other sites nothing, without the token nobody changes anything."""

from __future__ import annotations

import pytest
from oncelog.broker.console.access import Access

pytestmark = pytest.mark.unit
HERE = {"host": "127.0.0.1:9644"}
WITH = {**HERE, "authorization": "Bearer secret"}
CLOSED = Access("secret", "127.0.0.1")
OPEN = Access("secret", "127.0.0.1", reads_freely=True)
STUCK, ABORT = "/api/v1/stuck", "/api/v1/transactions/a/abort"


@pytest.mark.parametrize("path", ["/", "/page/app.js"])
def test_the_page_needs_no_token(path: str) -> None:
    assert CLOSED.refusal("GET", path, HERE) is None


def test_reading_and_changing() -> None:
    assert CLOSED.refusal("GET", STUCK, HERE) is not None
    assert CLOSED.refusal("GET", STUCK, WITH) is None
    assert OPEN.refusal("GET", STUCK, HERE) is None
    for access in (CLOSED, OPEN):
        refused = access.refusal("POST", ABORT, HERE)
        assert refused is not None
        assert refused[0] == 401
        assert access.refusal("POST", ABORT, WITH) is None


@pytest.mark.parametrize("bears", ["", "Bearer", "Bearer secre", "Bearer secret2", "Basic secret", "Bearer ſecret"])
def test_a_wrong_token(bears: str) -> None:
    assert OPEN.refusal("POST", ABORT, {**HERE, "authorization": bears}) is not None


@pytest.mark.parametrize(
    "foreign",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example:9644"},
    ],
)
def test_another_site_is_refused_even_with_the_token(foreign: dict[str, str]) -> None:
    for method, path in (("GET", "/"), ("GET", STUCK), ("POST", ABORT)):
        refused = OPEN.refusal(method, path, {**WITH, **foreign})
        assert refused is not None
        assert refused[0] == 403


def test_its_own_page_and_any_name_where_that_is_wanted() -> None:
    assert OPEN.refusal("POST", ABORT, {**WITH, "origin": "http://127.0.0.1:9644", "sec-fetch-site": "same-origin"}) is None
    assert Access("secret", None).refusal("POST", ABORT, {**WITH, "host": "broker.example:9644"}) is None
