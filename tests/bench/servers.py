"""The brokers that are compared, each started in a fresh folder on loopback with the same promise about durability."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path

from tests.referee import apache_kafka

READY_SECONDS = 60.0
STOP_SECONDS = 60.0
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


class Unavailable(Exception):
    """A rival that cannot be started here, and why."""


def cache_folder() -> Path:
    """Where programs are kept that were built for the benchmarks."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "oncelog-bench"


def built_folder(source: Path) -> Path:
    """Where what is built of this file is kept: of another content, elsewhere."""
    return cache_folder() / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server(ABC):
    """`durable`: acks=all is answered after fsync."""

    name: str

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder, self.durable = folder, durable
        self.port = free_port()
        self.environment: dict[str, str] = {}  # beside that of this process
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None

    @abstractmethod
    def command(self) -> list[str]:
        """What starts it. Raises Unavailable."""

    def start(self) -> float:
        """Seconds from the start of the process to the first ApiVersions answer. Raises Unavailable."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = self.command()
        with (self.folder / "log").open("ab") as log:
            begin = time.perf_counter()
            environment = os.environ | self.environment
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment)
        while not _answers(self.port):
            if self._process.poll() is not None or time.perf_counter() - begin > READY_SECONDS:
                text = (self.folder / "log").read_text(errors="replace")[-2000:]
                self.kill()
                raise Unavailable(f"{self.name} did not start:\n{text}")
            time.sleep(0.001)
        return time.perf_counter() - begin

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    # -- what it has used

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Oncelog(Server):
    name = "oncelog"

    def command(self) -> list[str]:
        tail = [] if self.durable else ["--fast"]
        return [sys.executable, "-m", "oncelog.broker", "serve", "--port", str(self.port), "--data-dir", str(self.folder / "data"), *tail]


class Kafka(Server):
    """Apache Kafka; durable means log.flush.interval.messages=1."""

    name = "kafka"

    def command(self) -> list[str]:
        if not apache_kafka.available():
            raise Unavailable("Apache Kafka needs Java and Maven")
        options = {"num.partitions": "1", "auto.create.topics.enable": "true"}
        if self.durable:
            options["log.flush.interval.messages"] = "1"
        apache_kafka.ApacheKafka(self.folder, self.port, options)  # writes server.properties
        properties = self.folder / "server.properties"
        if not (self.folder / "data" / "meta.properties").exists():
            apache_kafka.run_class("kafka.tools.StorageTool", "format", "-t", "b25jZWxvZy1iZW5jaC0wMQ", "-c", str(properties))
        jvm = ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{apache_kafka.jars()}/*"]
        return [*jvm, "kafka.Kafka", str(properties)]


class Kfake(Server):
    """franz-go's kfake, built once into the user's cache folder."""

    name = "kfake"

    def command(self) -> list[str]:
        command = [str(_built_kfake()), "-port", str(self.port)]
        if self.durable:
            command += ["-data-dir", str(self.folder / "data"), "-sync"]
        return command


def _built_kfake() -> Path:
    source = Path(__file__).with_name("kfake")
    cache = cache_folder()
    binary = cache / "kfake"
    newest = max(path.stat().st_mtime for path in source.iterdir())
    if binary.exists() and binary.stat().st_mtime >= newest:
        return binary
    if shutil.which("go") is None:
        raise Unavailable("kfake needs Go to be built")
    cache.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(["go", "build", "-o", str(binary), "."], cwd=source, capture_output=True, text=True, check=False)
    if built.returncode:
        raise Unavailable(f"kfake could not be built: {built.stderr.strip()[-500:]}")
    return binary


SERVERS: dict[str, type[Server]] = {one.name: one for one in (Oncelog, Kafka, Kfake)}


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.5) as connection:
            connection.settimeout(1.0)
            connection.sendall(_API_VERSIONS)
            return len(connection.recv(64)) > 8
    except OSError:
        return False
