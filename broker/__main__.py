"""`python -m oncelog.broker`, and the `oncelog` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point: the exit status is the command's."""
    if sys.argv[1:2] == ["serve"]:
        from oncelog.broker.commands.serve import plain_arguments, serve

        given = plain_arguments(sys.argv[2:])
        if given is not None:
            sys.exit(serve(**given))
    from oncelog.broker.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
