"""Who may use the control port: this machine, not a page of another site in its browser; or who knows the token."""

from __future__ import annotations

import pytest
from oncelog.broker.control.guard import refusal
from oncelog.broker.settings.control import ControlEndpoint

pytestmark = pytest.mark.unit
HERE = ControlEndpoint("127.0.0.1", 9644)
FAR = ControlEndpoint("0.0.0.0", 9644, "secret")


@pytest.mark.parametrize("host", ["127.0.0.1:9644", "localhost:9644", "LocalHost", "[::1]:9644", "127.0.0.5:1"])
def test_this_machine_by_any_of_its_names(host: str) -> None:
    assert refusal(HERE, "/v1/faults", {"host": host}) is None


@pytest.mark.parametrize("host", ["evil.example:9644", "127.0.0.1.evil.example", "10.0.0.1:9644", "", "[::1", "127.0.0.1@evil.example"])
def test_a_strangers_name_that_points_here(host: str) -> None:
    refused = refusal(HERE, "/v1/faults", {"host": host})
    assert refused is not None
    assert refused[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9645", "http://localhost:9644", ""])
@pytest.mark.parametrize("endpoint", [HERE, FAR])
def test_a_page_of_another_site(endpoint: ControlEndpoint, origin: str) -> None:
    headers = {"host": "127.0.0.1:9644", "origin": origin, "authorization": "Bearer secret"}
    refused = refusal(endpoint, "/v1/reset", headers)
    assert refused is not None
    assert refused[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_picture_in_a_page_of_another_site(site: str) -> None:
    refused = refusal(HERE, "/v1/state", {"host": "localhost:9644", "sec-fetch-site": site})
    assert refused is not None
    assert refused[0] == 403


def test_its_own_page_in_a_browser() -> None:
    headers = {"host": "localhost:9644", "origin": "http://localhost:9644", "sec-fetch-site": "same-origin"}
    assert refusal(HERE, "/v1/state", headers) is None
    assert refusal(HERE, "/", {"host": "localhost:9644", "sec-fetch-site": "none"}) is None


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer secret2", "Bearer s\u00e9cret"])
def test_without_the_token(given: str) -> None:
    refused = refusal(FAR, "/v1/state", {"host": "broker:9644"} | ({"authorization": given} if given else {}))
    assert refused is not None
    assert refused[0] == 401


def test_with_the_token_from_anywhere_and_health_without() -> None:
    assert refusal(FAR, "/v1/state", {"host": "broker:9644", "authorization": "bearer secret"}) is None
    assert refusal(FAR, "/readyz", {"host": "broker:9644"}) is None
    assert refusal(FAR, "/livez", {"host": "broker:9644"}) is None
