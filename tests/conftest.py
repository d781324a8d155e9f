"""Options and fixtures of all tests.

--bootstrap host:port   run wire and client tests against a broker that is already there (any Kafka), instead of one of ours
--seed N, --runs N      where random and repeated tests start, and how often they repeat
--jobs N                processes that share the seeds of simulations
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import BrokerProcess

FAMILIES = ("unit", "wire", "clients", "sim", "crash", "spark", "bench", "referee")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oncelog")
    group.addoption("--bootstrap", default=None, help="host:port of a Kafka to test instead of oncelog")
    group.addoption("--seed", type=int, default=int(os.environ.get("SEED", "1")), help="first seed of random tests")
    group.addoption("--runs", type=int, default=None, help="repetitions of crash and simulation tests (default: a slice)")
    group.addoption("--jobs", type=int, default=1, help="processes that share the seeds of simulations")


def pytest_configure() -> None:
    """Run in the background or by nohup, tests would hand on ignored signals to the processes they send them to."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folder of a test is its family."""
    root = Path(__file__).parent
    for item in items:
        family = item.path.relative_to(root).parts[0]
        if family in FAMILIES:
            item.add_marker(getattr(pytest.mark, family))


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """A test may take longer on a busy machine: pytest-timeout's alarm, put off as long as its seconds are not over."""
    if settings.method != "signal":
        return None
    patience = Patience(settings.timeout)

    def ring(_number: int, _frame: object) -> None:
        if patience.over:
            pytest_timeout.timeout_sigalrm(item, settings)
        else:
            signal.setitimer(signal.ITIMER_REAL, patience.seconds - patience.spent + 0.1)

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    item.cancel_timeout = lambda: signal.setitimer(signal.ITIMER_REAL, 0)  # type: ignore[attr-defined]
    return True


@pytest.fixture(scope="session")
def broker_process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess | None]:
    """One broker of ours for all wire and client tests; None with --bootstrap."""
    if request.config.getoption("--bootstrap"):
        yield None
        return
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as process:
        yield process
        process.stop()


@pytest.fixture
def bootstrap(request: pytest.FixtureRequest, broker_process: BrokerProcess | None) -> str:
    """host:port of the broker under test."""
    given: str | None = request.config.getoption("--bootstrap")
    if given:
        return given
    assert broker_process is not None
    assert broker_process.running, broker_process.text()
    return broker_process.bootstrap


@pytest.fixture
def ours(request: pytest.FixtureRequest) -> bool:
    """True when the broker under test is oncelog: for the few places where we are stricter than Kafka, or keep more."""
    return not request.config.getoption("--bootstrap")


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A topic, group or id no other test uses, also on a broker that lives longer than this run."""
    return f"{request.node.name[:60].translate(str.maketrans('[]/ ,', '.....'))}-{os.getpid():x}-{os.urandom(3).hex()}"


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of this test's own, to kill and restart."""
    with BrokerProcess(tmp_path / "data") as process:
        yield process


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    value: int = request.config.getoption("--seed")
    return value


@pytest.fixture
def runs(request: pytest.FixtureRequest) -> int | None:
    """`--runs`, None when not given."""
    value: int | None = request.config.getoption("--runs")
    return value


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """A line past pytest's capture: long runs are watched."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"  {line}", flush=True)

    return say
