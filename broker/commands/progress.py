"""How far long work is: a line on standard error that is gone when the work is done, and only where a person looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """The body calls what it gets with what it is at."""
    if not (shown and sys.stderr.isatty()):
        yield lambda at: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(title)) as status:
        yield lambda at: status.update(f"{escape(title)} {escape(at)}")
