"""The `oncelog` command. Sub-commands are named here and imported when they are used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

app = App(
    name="oncelog",
    help="A small Kafka broker that can be trusted about exactly-once, and seen into.",
    version_flags=["--version"],
    help_flags=["--help", "-h"],
)


@app.command
def serve(
    *,
    port: int | None = None,
    host: str | None = None,
    data_dir: Path | None = None,
    config: Path | None = None,
    override: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    fast: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run a broker until SIGTERM or Ctrl-C; a second signal ends it at once.

    Parameters
    ----------
    port
        Port to listen on; 0 picks a free one and prints it. Default: 9092, or `listeners` of the settings.
    host
        Address to listen on. Default: 127.0.0.1, or `listeners` of the settings.
    data_dir
        Where the log lives. Default: `log.dirs` of the settings, else the user's data folder.
    config
        A server.properties file with Kafka's names.
    override
        One setting as KEY=VALUE, stronger than file and environment; may be given several times.
    fast
        Acknowledge from the page cache as Apache Kafka does (log.flush.on.ack=false): a power cut may lose acknowledged records.
    """
    from oncelog.broker.serve import serve as run

    return run(port, host, data_dir, config, override, fast)


@app.command
def ready(*, bootstrap: str = "127.0.0.1:9092", timeout: float = 0.0) -> int:
    """Exit with 0 when a broker serves.

    Parameters
    ----------
    bootstrap
        host:port of the broker.
    timeout
        Seconds to wait for it; 0 asks once.
    """
    from oncelog.broker.ready import ready as ask

    return ask(bootstrap, timeout)


_COMMANDS = "oncelog.broker.commands"
for _name, _target, _help in (
    ("topic", "topic:app", "Topics: list, create, describe, alter, delete."),
    ("group", "group:app", "Consumer groups: list, describe, delete, reset offsets."),
    ("produce", "produce:produce", "Write lines of standard input to a topic."),
    ("consume", "consume:consume", "Print a topic's records."),
    ("config", "config:app", "Settings of topics and brokers: describe, alter."),
    ("user", "user:app", "SCRAM credentials."),
    ("acl", "acl:app", "Access control lists."),
    ("txn", "txn:app", "Transactions: list, describe, producers, hanging, abort."),
    ("doctor", "doctor:doctor", "Say why a client cannot reach a broker."),
    ("verify", "verify:verify", "Audit a data directory, offline."),
    ("graduate", "graduate:graduate", "Move a data directory into Apache Kafka."),
):
    app.command(f"{_COMMANDS}.{_target}", name=_name, help=_help)

log = App(name="log", help="Look into log files.")
log.command(f"{_COMMANDS}.log_dump:dump", name="dump", help="Print files or directories of a log, decoded.")
app.command(log)


def main() -> None:
    """Entry point: the exit status is the command's."""
    sys.exit(app(result_action="return_int_as_exit_code_else_zero") or 0)
