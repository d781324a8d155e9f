"""`oncelog config`: settings of topics, brokers, groups and loggers."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, show
from oncelog.broker.commands.client.settings import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    Settings,
    alter_settings,
    describe_settings,
    parse_settings_given,
)

app = App(name="config", help="Settings of topics, brokers, groups and loggers: describe, alter.")
Kind = Literal["topic", "broker", "group", "logger", "client-metrics"]
_NUMBERS = {"topic": TOPIC, "broker": BROKER, "group": GROUP, "logger": BROKER_LOGGER, "client-metrics": CLIENT_METRICS}


@app.command
def describe(
    kind: Kind,
    name: str | None = None,
    *,
    all: Annotated[bool, Parameter(negative=())] = False,
    documentation: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection = DEFAULT,
) -> None:
    """Show the settings of one thing.

    Parameters
    ----------
    name
        Its name; of a broker or logger the node id (the first broker if not given).
    all
        Show defaults too.
    documentation
        Show what each setting means.
    """
    with connection.open() as cluster:
        known = name if name is not None else _first_broker(kind, cluster.nodes()[0].node_id)
        rows = describe_settings(cluster, _NUMBERS[kind], known, documentation=documentation)
    shown = rows if all else [row for row in rows if row["source"] != "default"]
    columns = ["name", "value", "source", *(["documentation"] if documentation else [])]
    show(shown, columns, connection.format, nothing="only defaults (--all shows them)")


@app.command
def alter(
    kind: Kind,
    name: str | None = None,
    *,
    set: Settings = (),
    unset: Settings = (),
    connection: Connection = DEFAULT,
) -> None:
    """Change settings while the broker runs.

    Parameters
    ----------
    name
        Its name; of a broker the node id, or "" for all brokers.
    set
        NAME=VALUE; may be given several times.
    unset
        A setting to return to its default; may be given several times.
    """
    if not set and not unset:
        fail("nothing to alter: give --set or --unset", USAGE)
    with connection.open() as cluster:
        known = name if name is not None else _first_broker(kind, cluster.nodes()[0].node_id)
        alter_settings(cluster, _NUMBERS[kind], known, parse_settings_given(set), unset)
    done(f"altered {kind} {known}", connection.format, altered={"kind": kind, "name": known})


def _first_broker(kind: Kind, node_id: int) -> str:
    if kind not in ("broker", "logger"):
        fail(f"give the name of the {kind}", USAGE)
    return str(node_id)
