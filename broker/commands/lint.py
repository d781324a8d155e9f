"""`oncelog lint`: mistakes of clients that can be seen on any Kafka, each with what to write instead."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.options import refusals_end_the_command
from oncelog.broker.commands.client.output import UNREACHABLE, USAGE, Format, fail, show_json
from oncelog.broker.commands.client.properties import BadProperty, client_settings
from oncelog.broker.console.model import Unreachable

app = App(name="lint", help="Name mistakes of clients in transactions and groups, on any Kafka.")
FOUND = 1


@app.default
def lint(
    *,
    bootstrap: str = "localhost:9092",
    client_property: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    format: Format = Format.TABLE,
) -> None:
    """Name mistakes of clients in transactions and groups. Exit status 1 when there are some.

    Parameters
    ----------
    bootstrap
        Brokers of any Kafka to ask first, HOST:PORT[,HOST:PORT].
    client_property
        A setting of the client as NAME=VALUE, as security.protocol=SASL_SSL; may be given several times.
    format
        What to print on standard output.
    """
    try:
        settings = client_settings(client_property, "oncelog-lint")
    except BadProperty as wrong:
        fail(str(wrong), USAGE)
    with refusals_end_the_command():
        cluster = Cluster(bootstrap, security=settings.security, client_id=settings.client_id, timeout_s=settings.timeout_s)
        cluster.any()
        try:
            rows = asyncio.run(_rows(cluster))
        except Unreachable as failure:
            fail(str(failure), UNREACHABLE)
    if format is Format.JSON:
        show_json(list(rows))
    else:
        print("\n\n".join(_told(row) for row in rows) or "no mistakes were seen")
    if rows:
        raise SystemExit(FOUND)


async def _rows(cluster: Cluster) -> Sequence[Mapping[str, Any]]:
    from oncelog.broker.console.wire import WireSource

    source = WireSource(cluster)
    try:
        return await source.lint()
    finally:
        await source.close()


def _told(row: Mapping[str, Any]) -> str:
    when = datetime.fromtimestamp(row["last_ms"] / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    who = f"  client: {row['client_id'] or '-'} at {row['client_host'] or '-'}\n" if row["client_id"] or row["client_host"] else ""
    return f"{row['title']} [{row['rule']}] {row['subject']}\n{who}  seen: {row['evidence']} ({when})\n  instead: {row['instead']}"
