"""How a command ends: what stops it becomes a sentence on standard error and an exit status, 0 to 3 as in `oncelog --help`.

That is for what users, files and pipes do. Anything else is a mistake of ours and keeps its traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

REFUSED, USAGE, UNREACHABLE = 1, 2, 3
_LONGEST = 600


def exit_status(command: Callable[[], int | None]) -> int:
    """Run a command to its end. What it printed is flushed here, so that a full disk or a closed pipe is noticed."""
    for stream in (sys.stdout, sys.stderr):  # names may hold bytes that are no UTF-8
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = _own_status(command)
        sys.stdout.flush()
    except BrokenPipeError:  # `… | head` has seen enough
        _drop_output()
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        _drop_output()
        return 128 + signal.SIGINT
    except UnicodeEncodeError as error:  # an argument: what is read is bytes, or decoded with escapes
        return tell(f"{shortened(str(error.object))!a} is not UTF-8 text", USAGE)
    except OSError as error:
        _drop_output()
        return tell(problem(error) if error.filename is not None else f"the output cannot be written: {problem(error)}", REFUSED)
    return status


def tell(message: str, status: int, who: str = "error") -> int:
    """Print an error; the status."""
    sys.stderr.write("\n".join(shortened(line) for line in f"{who}: {message}".split("\n")) + "\n")
    return status


def problem(error: OSError | ValueError) -> str:
    """What went wrong, without numbers: `/x/y: Permission denied`."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return error.strerror if error.filename is None else f"{shortened(os.fsdecode(error.filename))}: {error.strerror}"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """`text`, without its middle when nobody would read all of it."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"


def _own_status(command: Callable[[], int | None]) -> int:
    try:
        return command() or 0
    except SystemExit as asked:
        return int(asked.code or 0)


def _drop_output() -> None:
    """Keep the interpreter from writing to a broken standard output once more when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        sys.stdout.flush()
    except (OSError, ValueError):
        pass  # it has no descriptor
