"""A real Apache Kafka on loopback, one KRaft node, from its published jars. Needs Java 17 and Maven.

    with ApacheKafka(folder, port=19300) as kafka:
        kafka.start()
        ...
        kafka.stop()

The jars are fetched once into the user's cache folder and shared by all runs.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from xml.etree import ElementTree

POM = Path(__file__).with_name("pom.xml")
_NAMESPACE = "{http://maven.apache.org/POM/4.0.0}"
READY_SECONDS = 90.0
STOP_SECONDS = 60.0


def version() -> str:
    """The release that the pom names."""
    text = ElementTree.parse(POM).getroot().findtext(f"{_NAMESPACE}properties/{_NAMESPACE}kafka.version")
    assert text is not None
    return text


def available() -> bool:
    """Are Java and the jars (or Maven to fetch them) here?"""
    return shutil.which("java") is not None and (_complete() or shutil.which("mvn") is not None)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "apache-kafka" / version()


def _complete() -> bool:
    """Are all jars there? The mark holds the pom they were fetched for, so that a pom that asks for more is noticed."""
    mark = _cache() / ".complete"
    return mark.exists() and mark.read_bytes() == POM.read_bytes()


def jars() -> Path:
    """The folder with the jars; fetched by Maven at first use."""
    folder = _cache()
    if not _complete():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mvn", "-q", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], check=True)
        (folder / ".complete").write_bytes(POM.read_bytes())
    return folder


def free_ports() -> int:
    """The first of two ports in a row that are free: the broker's and the controller's. Runs at the same time look in different places."""
    begin = os.getpid() % 350 * 2
    for port in (19300 + (begin + step) % 700 for step in range(0, 700, 2)):
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise RuntimeError("no two free ports between 19300 and 20000")


def run_class(name: str, *arguments: str, seconds: float = 60.0) -> str:
    """Output (stdout and stderr) of one of Kafka's command line classes; its exit status does not matter."""
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{jars()}/*", name, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False)
    return done.stdout


class ApacheKafka:
    """One node that is both broker and controller. `options` are further lines of server.properties."""

    def __init__(self, folder: Path, port: int, options: dict[str, str] | None = None) -> None:
        self.folder, self.port = folder, port
        self.data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._properties = folder / "server.properties"
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in {**self._base(), **(options or {})}.items()))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self.kill()

    def _base(self) -> dict[str, str]:
        controller = f"127.0.0.1:{self.port + 1}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }

    def start(self) -> None:
        """Format the directory at first, start, and wait until ApiVersions is answered. Raises RuntimeError with the log's end."""
        if not (self.data / "meta.properties").exists():
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            run_class("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._properties))
        self._log = (self.folder / "log").open("ab")
        command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        command += ["-cp", f"{jars()}/*", "kafka.Kafka", str(self._properties)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + READY_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Apache Kafka is not ready:\n{self.log_text()[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """SIGTERM, and wait for the end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(STOP_SECONDS)
        self._close()

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def log_text(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _answers(self) -> bool:
        request = struct.pack(">hhih", 18, 0, 7, -1)
        try:
            with socket.create_connection(("127.0.0.1", self.port), 0.5) as connection:
                connection.settimeout(1.0)
                connection.sendall(struct.pack(">i", len(request)) + request)
                return len(connection.recv(64)) > 8
        except OSError:
            return False
