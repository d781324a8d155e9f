"""docker-compose.yml and Dockerfile, as far as that goes without an engine: shape, build context, and the start command itself."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.image import Image
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
    """The context holds what is copied, and nothing else."""
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    used = set()
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        copied = re.match(r"COPY (?:--chown=\S+ )?(?!--)(.+) \S+$", line)
        for source in copied[1].split() if copied else ():
            assert (ROOT / source).exists(), line
            used |= {name for name in kept if f"{source}/".startswith(f"{name}/")} or {source}
    assert used == kept


def test_the_image_runs_as_nobody_special() -> None:
    """And what test kits alter belongs to that user, as does the folder of the data."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert lines.index("USER oncelog") < next(number for number, line in enumerate(lines) if line.startswith("ENTRYPOINT"))
    altered = {line.split()[-1] for line in lines if line.startswith("COPY --chown=oncelog:oncelog ")}
    assert altered == {"/etc/kafka", "/etc/confluent", "/opt/kafka"}
    made = next(line for line in lines if "useradd" in line)
    assert re.search(r"install -d -o oncelog -g oncelog (.*)$", made)[1].split() == ["/var/lib/oncelog", "/var/lib/kafka/data"]  # type: ignore[index]


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


def image(user: dict[str, str], data: Path) -> tuple[list[str], dict[str, str]]:
    """The image's command and environment with those of a user laid over it, to be run by hand."""
    made = Image(Path(tempfile.mkdtemp(dir=data.parent)) / "image")
    return [str(made.path("/usr/local/bin/oncelog-entry"))], made.environment({"ONCELOG_DATA_DIR": str(data), **user})


def run_image(user: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The image's command, when it is to end by itself."""
    command, environment = image(user, folder / "data")
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_the_image_never_opens_another_door_than_the_users(tmp_path: Path) -> None:
    """A listener that wants SASL stays the only one, and stays what it is."""
    command, environment = image({"KAFKA_LISTENERS": "SASL_PLAINTEXT://127.0.0.1:0"}, tmp_path / "data")
    output = tmp_path / "out"
    with output.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: b"Kafka Server started" in output.read_bytes() or process.poll() is not None, 20, "the start")
        text = output.read_text()
        (where,) = re.findall(r"listening on (.*)", text)
        found = re.fullmatch(r"SASL_PLAINTEXT://127\.0\.0\.1:(\d+)", where)
        assert found, text
        with socket.create_connection(("127.0.0.1", int(found[1])), 5) as connection:
            connection.sendall(bytes.fromhex("0000000e 0003 0001 00000001 ffff 00000000"))  # Metadata
            assert connection.recv(100) == b""
    finally:
        process.terminate()
        assert process.wait(20) == 0


REFUSED_STARTS = {
    "a listener that needs a key": {"KAFKA_LISTENERS": "SASL_SSL://127.0.0.1:0"},
    "two directories": {"KAFKA_LOG_DIRS": "/tmp/a,/tmp/b"},
    "a misspelt name": {"KAFKA_LISTENRS": "SASL_SSL://127.0.0.1:0"},
    "an advertised listener that is none": {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_ADVERTISED_LISTENERS": "SSL://h:1"},
    "an advertised listener that needs a key": {"KAFKA_ADVERTISED_LISTENERS": "SSL://localhost:0"},
    "a super user without a type": {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_SUPER_USERS": "alice"},
    "no TLS version": {"KAFKA_LISTENERS": "SSL://127.0.0.1:0", "KAFKA_SSL_ENABLED_PROTOCOLS": ""},
}


@pytest.mark.parametrize("case", REFUSED_STARTS)
def test_the_image_refuses_in_one_line(tmp_path: Path, case: str) -> None:
    ended = run_image(REFUSED_STARTS[case], tmp_path)
    assert ended.returncode == 1
    assert ended.stdout == ""
    lines = [line for line in ended.stderr.splitlines() if line.startswith("oncelog: ")]
    assert len(lines) == 1, ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_directory_keeps_its_node_and_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\nnode.id=4\n")
    (tmp_path / "data" / ".kafka_cleanshutdown").touch()
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    for user, said in (({"KAFKA_NODE_ID": "5"}, "belongs to node 4, not to 5"), ({"CLUSTER_ID": "AAAAAAAAAAAAAAAAAAAAAA"}, "not to AAAA")):
        ended = run_image({"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", **user}, tmp_path)
        assert ended.returncode == 1
        assert said in ended.stderr
    after = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir() if path.name != ".lock"}
    assert after == before
