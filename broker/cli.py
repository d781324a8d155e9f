"""The `oncelog` command. Sub-commands are named here and imported when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Parameter
from oncelog.broker.ending import USAGE, shortened, tell

app = App(
    name="oncelog",
    help="A small Kafka broker that can be trusted about exactly-once, and seen into.",
    help_epilogue="Exit status: 0 done, 1 refused or nothing of that name, 2 wrong arguments, 3 no broker could be reached.",
    version_flags=["--version"],
    help_flags=["--help", "-h"],
    default_parameter=Parameter(show_default=lambda default: _shown(default), negative_iterable=()),
)


_COMMANDS = "oncelog.broker.commands"
app.command("oncelog.broker.commands.serve:serve", name="serve", help="Run a broker until SIGTERM or Ctrl-C.")
app.command("oncelog.broker.commands.ready:ready", name="ready", help="Exit with 0 when a broker serves.")
for _name, _target, _help in (
    ("topic", "topic:app", "Topics: list, create, describe, alter, delete."),
    ("group", "group:app", "Consumer groups: list, describe, delete, reset offsets."),
    ("produce", "produce:produce", "Write lines of standard input to a topic."),
    ("consume", "consume:consume", "Print a topic's records."),
    ("config", "config:app", "Settings of topics and brokers: describe, alter."),
    ("user", "user:app", "SCRAM credentials."),
    ("acl", "acl:app", "Access control lists."),
    ("txn", "txn:app", "Transactions: list, describe, producers, hanging, abort."),
    ("fault", "fault:app", "Failures on demand, by a broker's control port: add, list, release, remove."),
    ("console", "console:console", "The exactly-once inspector on a page: of any Kafka, or of a data directory."),
    ("lab", "lab:app", "What goes wrong with exactly-once, replayed and shown: late-end-txn."),
    ("lint", "lint:lint", "Name mistakes of clients in transactions and groups, on any Kafka."),
    ("doctor", "doctor:doctor", "Say why a client cannot reach a broker."),
    ("journal", "journal:app", "What serve --journal wrote: show, check."),
    ("verify", "verify:verify", "Audit a data directory, offline."),
    ("graduate", "graduate:graduate", "Move a data directory into Apache Kafka."),
):
    app.command(f"{_COMMANDS}.{_target}", name=_name, help=_help)

log = App(name="log", help="Look into log files.")
log.command(f"{_COMMANDS}.log_dump:dump", name="dump", help="Print files or directories of a log, decoded.")
app.command(log)
app.register_install_completion_command(help="Install completion for your shell: commands and options at the press of Tab.")


def run(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name; its exit status."""
    try:
        status: int = app(arguments, result_action="return_int_as_exit_code_else_zero", exit_on_error=False, print_error=False)
    except CycloptsError as wrong:
        name = " ".join((app.name[0], *(wrong.command_chain or ())))
        return tell(f"{shortened(' '.join(str(wrong).split()))}\n       `{name} --help` shows what it takes", USAGE)
    return status


def _shown(default: Any) -> Any:
    """Defaults worth telling: not those of flags and lists."""
    return None if default is False or default == () else default
