"""`python -m oncelog.broker`, and the `oncelog` command."""

from __future__ import annotations

import sys

from oncelog.broker.ending import exit_status


def main() -> None:
    """Entry point: the exit status is the command's."""
    sys.exit(exit_status(_command))


def _command() -> int:
    if sys.argv[1:2] == ["serve"]:
        from oncelog.broker.commands.serve import plain_arguments, serve

        given = plain_arguments(sys.argv[2:])
        if given is not None:
            return serve(**given)
    from oncelog.broker.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
