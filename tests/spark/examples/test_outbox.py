"""The outbox as its one command; with PostgreSQL where a server's programs are installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncelog.spark_jobs.examples import outbox
from support.process import free_port


@pytest.fixture
def postgres() -> Iterator[str]:
    """URL of a PostgreSQL cluster of this test's own, on loopback."""
    programs = find_postgres()
    if programs is None:
        pytest.skip("no PostgreSQL server here (initdb): apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("no PostgreSQL client here: pip install 'psycopg[binary]'")
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    folder, port = Path(tempfile.mkdtemp(prefix="oncelog-pg-")), free_port()
    if user:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)

    try:
        run("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
        listening = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        run("pg_ctl", "-o", listening, "-l", str(folder / "log"), "-w", "start")
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_postgres() -> Path | None:
    """The folder with initdb and pg_ctl: on the path, or where Debian puts them."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return found[-1] if found else None


def test_outbox_in_sqlite(bootstrap: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert outbox.main(["--bootstrap-servers", bootstrap, "--seed", str(seed)]) == 0
    assert "missing=0 twice_or_unknown=0" in capsys.readouterr().out


def test_outbox_in_postgres(bootstrap: str, seed: int, postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outbox.main(["--bootstrap-servers", bootstrap, "--seed", str(seed), "--database", postgres]) == 0
    printed = capsys.readouterr().out
    assert "orders=1795 rolled_back=205 events=1795 missing=0 twice_or_unknown=0" in printed
    assert "kills=8" in printed
