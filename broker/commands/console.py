"""`oncelog console`: the exactly-once inspector on a page, of any Kafka or of a data directory."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.options import refusals_end_the_command
from oncelog.broker.commands.client.output import USAGE, fail
from oncelog.broker.commands.client.properties import BadProperty, client_settings
from oncelog.broker.ending import problem

if TYPE_CHECKING:
    from oncelog.broker.console.model import Source

app = App(name="console", help="The exactly-once inspector, on a page.")


@app.default
def console(
    directory: Path | None = None,
    *,
    bootstrap: str | None = None,
    port: int = 0,
    client_property: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
) -> None:
    """Show who keeps a consumer waiting, who fenced whom, and whether a transaction will ever end; until Ctrl-C.

    Parameters
    ----------
    directory
        A data directory, of oncelog or of Apache Kafka; it is only read.
    bootstrap
        Instead: brokers of any Kafka to ask first, HOST:PORT[,HOST:PORT].
    port
        Of the page, on 127.0.0.1; 0 picks a free one. The address is printed.
    client_property
        A setting of the client as NAME=VALUE, as security.protocol=SASL_SSL; may be given several times.
    """
    if (directory is None) == (bootstrap is None):
        fail("give a data directory, or --bootstrap HOST:PORT", USAGE)
    if not 0 <= port <= 65535:
        fail(f"--port {port}: a port is a number from 0 to 65535", USAGE)
    with refusals_end_the_command():
        asyncio.run(_serve(_of_directory(directory) if directory is not None else _of_kafka(bootstrap or "", client_property), port))


def _of_directory(directory: Path) -> Source:
    from oncelog.broker.console.directory import open_directory

    try:
        return open_directory(directory)
    except OSError as error:
        fail(problem(error))


def _of_kafka(bootstrap: str, properties: tuple[str, ...]) -> Source:
    from oncelog.broker.console.wire import WireSource

    try:
        settings = client_settings(properties, "oncelog-console")
    except BadProperty as wrong:
        fail(str(wrong), USAGE)
    cluster = Cluster(bootstrap, security=settings.security, client_id=settings.client_id, timeout_s=settings.timeout_s)
    cluster.any()  # who cannot be reached is told at once
    return WireSource(cluster)


async def _serve(source: Source, port: int) -> None:
    from oncelog.broker.console.serving import Served

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    served = Served(source, port)
    try:
        await served.start()
    except OSError as error:
        fail(f"port {port}: {problem(error)}")
    print(f"Console: {served.url}", flush=True)
    await stopping.wait()
    await served.close()
