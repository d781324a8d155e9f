"""A Spark cluster as docker-compose.yml has it, by hand: master and worker in processes of their own, jobs submitted to them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.demo_parts.readback import newest_by_key, read_all
from oncelog.spark_jobs.session import SessionError, connector_cache, connector_settings, find_java
from support.process import free_port, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]
Topic = Callable[[int], str]


class Cluster:
    """Master and worker on loopback."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
        self.url = f"spark://127.0.0.1:{free_port()}"
        self.processes: list[subprocess.Popen[bytes]] = []
        # as in a container: nothing of this process's settings but Java, Spark and the interpreter; oncelog is not on the path
        self.environment = {
            "PATH": os.environ["PATH"],
            "JAVA_HOME": str(find_java()),
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_WORKER_CORES": "2",
            "SPARK_WORKER_MEMORY": "1g",
            "PYSPARK_PYTHON": sys.executable,
        }

    def start(self) -> None:
        port = self.url.rsplit(":", 1)[1]
        self._run("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0")
        wait_until(lambda: "I have been elected leader" in self.text("master"), 60, "the master")
        self._run("worker", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", self.url)
        wait_until(lambda: "Successfully registered with master" in self.text("worker"), 60, "the worker")

    def _run(self, name: str, *command: str) -> None:
        with (self.folder / name).open("wb") as out:
            self.processes.append(
                subprocess.Popen(
                    [self.home / "bin" / "spark-class", *command],
                    env=self.environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(errors="replace")

    def submit(self, name: str, job: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """spark-submit of a job, with the connector that the installed PySpark needs."""
        connector = [f"--conf={key}={value}" for key, value in connector_settings(connector_cache()).items()]
        command = [str(self.home / "bin" / "spark-submit"), f"--master={self.url}", *connector, str(job), *arguments]
        environment = {**self.environment, "PYTHONPATH": str(package_path(self.folder))}
        with (self.folder / name).open("wb") as out:
            process = subprocess.Popen(
                command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True
            )
        self.processes.append(process)
        return process

    def executors(self) -> list[int]:
        """Process ids of the executors."""
        found = []
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = command.read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            if b"CoarseGrainedExecutorBackend" in text and self.home.as_posix().encode() in text and b"Worker" in text:
                found.append(int(command.parent.name))
        return found

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in reversed(self.processes):
            process.wait(60)


def package_path(folder: Path) -> Path:
    """What the compose file mounts: a folder with `oncelog/spark_jobs` and nothing else of oncelog."""
    package = folder / "src" / "oncelog"
    package.mkdir(parents=True, exist_ok=True)
    if not (package / "spark_jobs").exists():
        (package / "spark_jobs").symlink_to(ROOT / "spark_jobs")
    return package.parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    except SessionError as missing:
        pytest.skip(str(missing))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def fill(bootstrap: str, topic: str, values: list[str]) -> None:
    loader = load.Loader(bootstrap, topic)
    loader.send(flights.Event(str(number).encode(), value.encode(), 0) for number, value in enumerate(values))
    loader.flush()


def test_the_compose_files_job_counts_departures(cluster: Cluster, bootstrap: str, topic: Topic) -> None:
    """The arguments of the compose file; only addresses, topics and folders are this test's own, and it stops when all is read."""
    service: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["departures"]
    at = next(number for number, part in enumerate(service["command"]) if part.endswith("departures.py"))
    source, target = topic(3), topic(1)
    own = {
        "--bootstrap-servers": bootstrap,
        "--input": source,
        "--output": target,
        "--checkpoint": str(cluster.folder / "checkpoints"),
        "--trigger": "available-now",
    }
    given = [part.split("=", 1)[0] for part in service["command"][at + 1 :]]
    assert given == list(own)
    row = {"scheduled": "2013-01-01T10:15:00Z", "origin": "EWR", "dep_delay": 2}
    fill(bootstrap, source, [json.dumps(row)] * 500)
    job = Path(service["command"][at]).name
    process = cluster.submit(
        "departures", package_path(cluster.folder) / "oncelog/spark_jobs" / job, *(f"{key}={own[key]}" for key in given)
    )
    assert process.wait(200) == 0, cluster.text("departures")[-3000:]
    table = newest_by_key(read_all(bootstrap, target))
    assert {key: cell["departures"] for key, cell in table.items()} == {"EWR 2013-01-01T10:00:00Z": 500}


def test_the_sink_brings_its_modules_along_and_outlives_an_executor(cluster: Cluster, bootstrap: str, topic: Topic) -> None:
    """Executors know nothing of oncelog; one is killed in the middle of a micro-batch."""
    source, target = topic(3), topic(3)
    rows = 3000
    fill(bootstrap, source, [str(number) for number in range(rows)])
    options = ["--bootstrap-servers", bootstrap, "--input", source, "--output", target, "--delivery", "exactly-once"]
    options += ["--checkpoint", str(cluster.folder / "relayed"), "--max-offsets-per-trigger", "500"]
    process = cluster.submit("relay", ROOT / "spark_jobs" / "relay.py", *options)
    wait_until(lambda: re.search(r"progress \S+ batch=2 ", cluster.text("relay")) or process.poll() is not None, 150, "three batches")
    (executor,) = cluster.executors()
    os.kill(executor, signal.SIGKILL)
    assert process.wait(200) == 0, cluster.text("relay")[-3000:]
    assert Counter(int(message.value or b"-1") for message in read_all(bootstrap, target)) == Counter(range(rows))
