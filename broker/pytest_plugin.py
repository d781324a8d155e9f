"""pytest's plugin: brokers as fixtures, and what they saw in the report of a test that failed.

pytest imports it at each start, also where nobody uses it, so it imports nothing of oncelog before a fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from oncelog.broker.testkit.broker import Broker
    from oncelog.broker.testkit.process import Process
    from oncelog.broker.testkit.watch import Watch

_MARKER = (
    'oncelog(settings=None, clock="running", reset=True): how the brokers of this test are made: settings as in server.properties, '
    'clock "running" or "virtual"; reset=False leaves in the broker of the session what other tests put there'
)
_watches: pytest.StashKey[list[Watch]] = pytest.StashKey()


@pytest.hookimpl
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for watch in item.stash.get(_watches, ()):
            watch.failed = True
            report.sections.append((watch.title, watch.told()))
    return report


@pytest.fixture
def oncelog(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker of this test's own, in memory: `oncelog.bootstrap`."""
    from oncelog.broker.testkit.broker import Broker

    settings, clock, _reset = _asked(request)
    with ExitStack() as ending:
        broker = ending.enter_context(Broker(settings, clock=clock))
        _watch(request, ending, "oncelog", broker)
        yield broker


@pytest.fixture(scope="session")
def _oncelog_shared() -> Iterator[dict[Any, Broker]]:
    """The brokers of the session, by how they were asked for."""
    shared: dict[Any, Broker] = {}
    yield shared
    for broker in shared.values():
        broker.close()


@pytest.fixture
def oncelog_session(request: pytest.FixtureRequest, _oncelog_shared: dict[Any, Broker]) -> Iterator[Broker]:
    """The broker of the session, emptied for this test; one for each kind that markers ask for."""
    broker = _shared(request, _oncelog_shared)
    if _asked(request)[2]:
        broker.reset()
    elif not broker.is_up:
        broker.restart()
    with ExitStack() as ending:
        _watch(request, ending, "oncelog_session", broker)
        yield broker


@pytest.fixture
def oncelog_topic(request: pytest.FixtureRequest, oncelog_session: Broker) -> str:
    """The name of a topic with one partition that no other test uses, made in the broker of the session."""
    import re
    import uuid

    name = f"{re.sub(r'[^a-zA-Z0-9._-]', '.', request.node.name)[:60]}-{uuid.uuid4().hex[:6]}"
    oncelog_session.create_topic(name)
    return name


@pytest.fixture
def oncelog_process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    """`oncelog serve` on a folder of this test's own: `crash()` and `crash_at()` are a real `kill -9`."""
    from oncelog.broker.testkit.process import Process

    settings, clock, _reset = _asked(request)
    with ExitStack() as ending:
        process = ending.enter_context(Process(tmp_path / "oncelog", settings, clock=clock))
        _watch(request, ending, "oncelog_process", process)
        yield process


def _asked(request: pytest.FixtureRequest) -> tuple[dict[str, object], str, bool]:
    """Settings, clock and reset by the markers of the test, of its class and module; the nearest counts. Raises UsageError."""
    asked: dict[str, Any] = {"settings": None, "clock": "running", "reset": True}
    settings: dict[str, object] = {}
    for mark in reversed(list(request.node.iter_markers("oncelog"))):
        if mark.args or not mark.kwargs.keys() <= asked.keys():
            raise pytest.UsageError(f"@pytest.mark.oncelog takes settings=, clock= and reset=, not {mark.args or sorted(mark.kwargs)}")
        asked |= mark.kwargs
        settings |= mark.kwargs.get("settings") or {}
    return settings, asked["clock"], asked["reset"]


def _shared(request: pytest.FixtureRequest, shared: dict[Any, Broker]) -> Broker:
    from oncelog.broker.testkit.broker import Broker

    settings, clock, _reset = _asked(request)
    kind = (clock, tuple(sorted((name, str(value)) for name, value in settings.items())))
    if kind not in shared:
        shared[kind] = Broker(settings, clock=clock)
    return shared[kind].start()  # also one that a test has closed


def _watch(request: pytest.FixtureRequest, ending: ExitStack, title: str, broker: Broker | Process) -> None:
    from oncelog.broker.testkit.watch import Watch

    watch = ending.enter_context(Watch(title, broker))
    request.node.stash.setdefault(_watches, []).append(watch)
