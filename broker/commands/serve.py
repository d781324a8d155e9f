"""`oncelog serve`: the process around a broker. Signals, the event loop, what stands on standard output, and the allocator.

What the broker is made of, and in which order, is `lifecycle`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oncelog.broker.ending import problem, tell

if TYPE_CHECKING:
    from oncelog.broker.lifecycle import Around, Broker
    from oncelog.broker.settings.broker import BrokerConfig
    from oncelog.broker.topics.at_start import WantedTopic

_log = logging.getLogger(__name__)

USAGE, FAILED = 2, 1
CLOCKS = ("running", "virtual")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MALLOC_THRESHOLD_BYTES = 1 << 30


def serve(
    *,
    port: int | None = None,
    host: str | None = None,
    data_dir: Path | None = None,
    config: Path | None = None,
    override: tuple[str, ...] = (),
    topic: tuple[str, ...] = (),
    fast: bool = False,
    accept_data_loss: bool = False,
    control: int | None = None,
    clock: Literal["running", "virtual"] = "running",
    journal: Path | None = None,
) -> int:
    """Run a broker until SIGTERM, SIGHUP or Ctrl-C; a second SIGTERM or Ctrl-C ends it at once.

    Parameters
    ----------
    port
        Port to listen on; 0 picks a free one and prints it. Default: 9092. Refused when `listeners` of the settings name another.
    host
        Address to listen on. Default: 127.0.0.1. Refused when `listeners` of the settings name another.
    data_dir
        Where the log lives. Default: `log.dirs` of the settings, else the user's data folder.
    config
        A server.properties file with Kafka's names.
    override
        One setting as KEY=VALUE, stronger than file and environment; may be given several times.
    topic
        A topic to make where it is missing, NAME:PARTITIONS[:key=value,...]; may be given several times.
    fast
        Acknowledge from the page cache as Apache Kafka does (log.flush.on.ack=false): a power cut may lose acknowledged records.
    accept_data_loss
        Start although users, access rules and broker settings (oncelog.metadata and its copy) cannot be read: without them.
    control
        Open the control port of 127.0.0.1 for tests: faults, time, crashes, metrics over HTTP; 0 picks a free port and prints it.
    clock
        virtual: time stands still until the control port moves it. Needs --control.
    journal
        Write what exactly-once depends on, request by request, at the end of this file: for `oncelog journal`.
    """
    from oncelog.broker.settings.start import data_directory, start_configs
    from oncelog.protocol.errors import KafkaError

    try:
        _log_to_stderr()
        values = start_configs(port, host, config, override, fast, os.environ, control)
        directory = data_directory(values, data_dir, os.environ)
        return _run(values, directory, _topics(topic), accept_data_loss, stands=clock == "virtual", journal=journal)
    except KafkaError as error:
        return _fail(error.message or error.code.name)
    except BlockingIOError:
        return _fail(f"{directory} is in use by another broker; stop it, or choose another with --data-dir")
    except (OSError, ValueError) as error:  # a port that is taken, a folder that is not ours, a file that holds something else
        _log.debug("cannot start", exc_info=error)
        return _fail(f"cannot start: {problem(error)}")


def plain_arguments(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of `serve` when they are plainly right, None for anything else: help, mistakes and other spellings are cyclopts' work.

    Importing cyclopts costs a third of the time that a start may take.
    """
    given: dict[str, Any] = {}
    convert: dict[str, Callable[[str], Any]] = {"--port": int, "--host": str, "--data-dir": Path, "--config": Path, "--control": int}
    convert["--clock"] = str
    convert["--journal"] = Path
    several = ("--override", "--topic")
    flags = ("--fast", "--accept-data-loss")
    rest = list(arguments)
    while rest:
        name, separator, value = rest.pop(0).partition("=")
        if name in flags and not separator:
            given[name[2:].replace("-", "_")] = True
            continue
        if name not in (*convert, *several) or (not separator and (not rest or rest[0].startswith("-"))):
            return None
        text = value if separator else rest.pop(0)
        if convert.get(name) is int and not (text.isdecimal() and len(text) <= 5):
            return None
        if name == "--clock" and text not in CLOCKS:
            return None
        if name in several:
            given[name[2:]] = (*given.get(name[2:], ()), text)
        else:
            given[name[2:].replace("-", "_")] = convert[name](text)
    return given


def _fail(message: str) -> int:
    return tell(message, FAILED, "oncelog")


def _topics(options: tuple[str, ...]) -> tuple[WantedTopic, ...]:
    variable = os.environ.get("KAFKA_CREATE_TOPICS", "")
    if not options and not variable:
        return ()
    from oncelog.broker.topics.at_start import wanted_topics

    return wanted_topics(options, variable)


def _run(
    values: dict[str, str],
    directory: Path,
    topics: tuple[WantedTopic, ...],
    accept_data_loss: bool,
    *,
    stands: bool,
    journal: Path | None,
) -> int:
    from oncelog.broker.settings.control import control_endpoint
    from oncelog.broker.settings.listeners import refusal
    from oncelog.broker.settings.load import load

    config = load(values)
    endpoint = control_endpoint(config.server.control_listener, config.server.control_token)
    if endpoint is None and stands:
        raise refusal("--clock virtual needs a control port, or nobody could move time: add --control PORT")
    around = None if journal is None else _journaling(journal)
    if endpoint is None:
        running = _plain(config, directory, topics, accept_data_loss, around)
    else:
        from oncelog.broker.control.served import controlled

        running = controlled(config, endpoint, directory, topics, stands=stands, accept_data_loss=accept_data_loss, inside=around)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_serve(running, directory))


def new_loop() -> asyncio.AbstractEventLoop:
    """uvloop where it has a wheel."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _serve(running: AbstractAsyncContextManager[Broker], directory: Path) -> int:
    from oncelog.broker.process import logs
    from oncelog.broker.process.garbage import keep_collections_short

    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP:  # under nohup it stays ignored
            loop.add_signal_handler(number, _stop, stopping, number)
    async with running as broker:
        gc.freeze()  # without a collection, which would stand between the start and the first answer
        keep_collections_short()
        _announce(broker.context.node_id, [(each.name, each.config.host, each.port) for each in broker.listeners], directory)
        _keep_large_buffers()  # after the first client may come: it loads ctypes
        await loop.run_in_executor(None, logs.warm_up)
        await stopping.wait()
        _log.info("stopping")
    _log.info("stopped")
    return 0


@contextlib.asynccontextmanager
async def _plain(
    config: BrokerConfig, directory: Path, topics: tuple[WantedTopic, ...], accept_data_loss: bool, around: Around | None
) -> AsyncIterator[Broker]:
    """A broker that serves within the block. Raises OSError, KafkaError."""
    from oncelog.broker.lifecycle import Broker
    from oncelog.broker.process.file_limits import claim
    from oncelog.storage.env import system_env
    from oncelog.storage.log.flush import ThreadFlusher

    flusher = ThreadFlusher(asyncio.get_running_loop())
    broker = Broker(system_env(), directory, config, flusher, claim(), accept_data_loss=accept_data_loss, topics=topics, around=around)
    await broker.start()
    yield broker
    await broker.stop()


def _journaling(path: Path) -> Around:
    """Raises OSError."""
    from oncelog.broker.journal.recorder import FileJournal, journaling
    from oncelog.storage.env import SystemClock

    return journaling(FileJournal(path, SystemClock().time_ms()))


def _stop(stopping: asyncio.Event, number: signal.Signals) -> None:
    if number == signal.SIGHUP and stopping.is_set():
        return  # a terminal that closes sends several, systemd one behind SIGTERM: nobody is impatient
    if stopping.is_set():  # asked a second time: at once, and recovery will do the rest
        os._exit(128 + signal.SIGTERM)
    stopping.set()


def _announce(node_id: int, listeners: list[tuple[str, str, int]], directory: Path) -> None:
    """Lines that test kits wait for, each once, when clients can be served."""
    where = ", ".join(f"{name}://{host}:{port}" for name, host, port in listeners)
    print(f"[KafkaRaftServer nodeId={node_id}] Transitioning from RECOVERY to RUNNING")
    print(f"[KafkaServer id={node_id}] started (Kafka broker started)")
    print(f"Kafka Server started: data in {directory}, listening on {where}", flush=True)


def _log_to_stderr() -> None:
    from oncelog.broker.process.logs import configure

    configure(os.environ.get("ONCELOG_LOG_LEVEL", "INFO"), os.environ.get("ONCELOG_LOG_FORMAT", "text"))


def _keep_large_buffers() -> None:
    """Have glibc reuse memory of large requests instead of mapping and unmapping it each time (2.8-3.1x on 1 MiB requests)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with _ignoring_other_libcs():
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, _MALLOC_THRESHOLD_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, _MALLOC_THRESHOLD_BYTES)


@contextlib.contextmanager
def _ignoring_other_libcs() -> Iterator[None]:
    with contextlib.suppress(OSError, AttributeError):
        yield
