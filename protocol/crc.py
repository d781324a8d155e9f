"""The crc32c package's compiled function, without what importing the package brings along.

Its `__init__` asks importlib.metadata for its own version, which costs a fifth of the time that a broker's start may take.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c


def _compiled() -> object:
    """The function; None when the package is not laid out as expected."""
    package = PathFinder.find_spec("crc32c")
    found = PathFinder.find_spec("_crc32c", package.submodule_search_locations) if package is not None else None
    if found is None or found.loader is None:
        return None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return getattr(module, "crc32c", None)


if not TYPE_CHECKING:
    crc32c = _compiled()
    if crc32c is None:
        from crc32c import crc32c

__all__ = ["crc32c"]
