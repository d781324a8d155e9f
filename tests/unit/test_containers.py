"""docker-compose.yml and Dockerfile, as far as that goes without an engine: shape, build context, and the start command itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from support.process import wait_until

ROOT = Path(__file__).parents[2]


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def test_services_depend_on_what_is_there_and_healthy() -> None:
    services = compose()["services"]
    assert {"broker", "spark-master", "spark-worker", "departures"} <= services.keys()
    for name, service in services.items():
        assert "image" in service or "build" in service, name
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] == "service_started" or "healthcheck" in services[other], (name, other)


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        copied = re.match(r"COPY (?!--from)(.+) \S+$", line)
        for source in copied[1].split() if copied else ():
            assert (ROOT / source).exists(), line


def test_mounted_folders_hold_the_submitted_job() -> None:
    service = compose()["services"]["departures"]
    (mount,) = [volume for volume in service["volumes"] if volume.startswith("./")]
    host, inside, _mode = mount.split(":")
    (job,) = [part for part in service["command"] if part.endswith(".py")]
    assert (ROOT / host / Path(job).relative_to(inside)).exists()


def test_driver_and_worker_share_the_checkpoints() -> None:
    """The driver writes offsets there, the worker the state of the aggregation."""
    services, volumes = compose()["services"], compose()["volumes"]
    (checkpoint,) = [part.split("=")[1] for part in services["departures"]["command"] if part.startswith("--checkpoint=")]
    shared = set(services["departures"]["volumes"]) & set(services["spark-worker"]["volumes"])
    assert [volume for volume in shared if checkpoint.startswith(volume.split(":")[1]) and volume.split(":")[0] in volumes]


def test_the_brokers_command_serves_with_the_services_environment(tmp_path: Path) -> None:
    """The entry point and environment of the compose file, run by hand; only folder and ports are this test's own."""
    service = compose()["services"]["broker"]
    environment = {key: re.sub(r"//([^:]*):\d+", r"//127.0.0.1:0", value) for key, value in service["environment"].items()}
    environment["KAFKA_ADVERTISED_LISTENERS"] = service["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert service["command"][0] == "serve"
    command = [sys.executable, "-m", "oncelog.broker", "serve", "--data-dir", str(tmp_path / "data")]
    output = tmp_path / "out"
    with output.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: b"Kafka Server started" in output.read_bytes() or process.poll() is not None, 20, "the start")
        text = output.read_text()
        assert "PLAINTEXT://127.0.0.1:" in text, text
        assert "HOST://127.0.0.1:" in text, text
    finally:
        process.terminate()
        assert process.wait(20) == 0
