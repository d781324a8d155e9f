"""Linux's fallocate(FALLOC_FL_KEEP_SIZE): space is reserved, the file's length stays honest (os.posix_fallocate grows it)."""

from __future__ import annotations

import ctypes
import sys

_KEEP_SIZE = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def keep_size(fd: int, size: int) -> None:
    """Reserve blocks up to `size` bytes. A hint: file systems without it, and full disks, are left to the write itself."""
    if _libc is not None:
        _libc.fallocate(fd, _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size))
