"""Certificates for tests, made with the openssl command: an authority, and what it issues for 127.0.0.1 and localhost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def openssl() -> str | None:
    """Where the command is."""
    return shutil.which("openssl")


class Authority:
    """A certificate authority of its own in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self._key = folder / "ca.key"
        self._run("req", "-x509", *_NEW_KEY, "-days", "2", "-subj", "/CN=authority", "-keyout", self._key, "-out", self.certificate)

    def issue(self, name: str, *, subject: str | None = None, expired: bool = False) -> Path:
        """A PEM file with key and certificate of CN=`name`, or of a subject as openssl writes it."""
        both = self.folder / f"{name}.pem"
        if both.exists():
            return both
        key, request, signed = (self.folder / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
        extensions = self.folder / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self._run("req", *_NEW_KEY, "-utf8", "-subj", subject or f"/CN={name}", "-keyout", key, "-out", request)
        self._run(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial"),
            *("-days", "-1" if expired else "1", "-extfile", extensions, "-out", signed),
        )
        both.write_text(key.read_text() + signed.read_text())
        return both

    def self_signed(self, name: str) -> Path:
        """A PEM file with key and certificate of CN=`name`, which nobody else vouches for."""
        both, key, signed = (self.folder / f"self-{name}.{suffix}" for suffix in ("pem", "key", "crt"))
        self._run("req", "-x509", *_NEW_KEY, "-days", "1", "-subj", f"/CN={name}", "-keyout", key, "-out", signed)
        both.write_text(key.read_text() + signed.read_text())
        return both

    def _run(self, *arguments: str | Path) -> None:
        subprocess.run([openssl() or "openssl", *arguments], check=True, capture_output=True)


_NEW_KEY = ("-newkey", "rsa:2048", "-nodes")
