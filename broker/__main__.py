"""`python -m oncelog.broker`, and the `oncelog` command."""

from __future__ import annotations

from oncelog.broker.cli import main

if __name__ == "__main__":
    main()
