"""The container image without an engine: its files below a folder, its entry point and variables, and processes that see them as theirs.

A path of the image in a command or a script (`/etc/…`, `/opt/…`, `/tmp/…`) becomes one below the folder; the rest is run as it stands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from oncelog.spark_jobs.demo_parts.patience import Patience

from support.process import wait_until

ROOT = Path(__file__).parents[2]
_PATH_OF_THE_IMAGE = r"(?<![\w.}/])/(?=(?:etc/(?:kafka|confluent)|opt|tmp|usr|var/lib|tc-start|testcontainers))"


class Image:
    """What the Dockerfile makes, as far as it comes from here; one container."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._paths = re.compile(rf"(?!{re.escape(str(root))}){_PATH_OF_THE_IMAGE}")
        text = (ROOT / "Dockerfile").read_text()
        for source, target in re.findall(r"^COPY (?:--chown=\S+ )?(container/\S+) (\S+)$", text, re.MULTILINE):
            shutil.copytree(ROOT / source, self.path(target), symlinks=True)
        (workdir,) = re.findall(r"^WORKDIR (?!/src)(\S+)$", text, re.MULTILINE)
        (entry_point,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
        self.entry_point: list[str] = json.loads(entry_point)
        (health,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.MULTILINE)
        self.health: list[str] = json.loads(health)
        self.workdir = self.path(workdir)
        (volume,) = re.findall(r"^VOLUME (\S+)$", text, re.MULTILINE)
        for folder in (self.workdir, self.path(volume), self.path("/tmp"), self.path("/usr/sbin")):
            folder.mkdir(parents=True, exist_ok=True)
        self.defaults = dict(part.split("=", 1) for line in re.findall(r"^ENV (.*)$", text, re.MULTILINE) for part in shlex.split(line))
        self._install()

    def _install(self) -> None:
        """`/opt/oncelog/bin/oncelog`, of the source that is tested."""
        command = self.path("/opt/oncelog/bin/oncelog")
        command.parent.mkdir(parents=True)
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m oncelog.broker "$@"\n')
        command.chmod(0o755)

    def path(self, path: str) -> Path:
        """Where a path of the image is."""
        return self.root / path.lstrip("/")

    def here(self, text: str) -> str:
        """`text` with the image's paths replaced by ours."""
        return self._paths.sub(f"{self.root}/", text)

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """The variables of the Dockerfile, those of a user laid over them."""
        folders = ("/opt/oncelog/bin", "/usr/local/bin", "/opt/kafka/bin")
        path = ":".join([*(str(self.path(folder)) for folder in folders), os.environ["PATH"]])
        defaults = {name: self.here(value) for name, value in self.defaults.items() if name != "PATH"}
        return {**defaults, **given, "PATH": path, "PYTHONPATH": str(ROOT / ".src")}

    def run(self, command: Sequence[str], given: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command inside, to its end."""
        return subprocess.run(
            [self.here(word) for word in command],
            cwd=self.workdir,
            env=self.environment(given or {}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def copy(self, path: str, text: str, mode: int) -> None:
        """`docker cp`: the file is there with all of its text or not at all."""
        draft = self.path(f"{path}.draft")
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(self.here(text))
        draft.chmod(mode)
        draft.rename(self.path(path))


class Container:
    """A process and its children, as PID 1 of a container and what it starts."""

    def __init__(self, image: Image, command: Sequence[str], given: Mapping[str, str], entry_point: Sequence[str] | None = None) -> None:
        self.image, self.given = image, dict(given)
        self._log = image.root / "log"
        words = [*(image.entry_point if entry_point is None else entry_point), *command]
        environment = image.environment(given)
        first = shutil.which(words[0], path=environment["PATH"])
        assert first is not None, words[0]
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                [first, *map(image.here, words[1:])],
                cwd=image.workdir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        """All that was printed."""
        return self._log.read_text(errors="replace")

    def wait_for(self, pattern: str, seconds: float) -> None:
        """A line of the log with `pattern` in it. AssertionError when there is none in time, or the process ends before."""
        wait_until(lambda: self._process.poll() is not None or re.search(pattern, self.log), seconds, f"{pattern} in the log")
        assert re.search(pattern, self.log), self.log

    def execute(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """`docker exec` with the variables that the container was made with."""
        return self.image.run(command, self.given)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the first process."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """The exit status of the first process. AssertionError when it does not end in time."""
        return Patience(seconds).wait(self._process.wait)

    def stop(self) -> int:
        """As `docker stop`: SIGTERM, and 10 s to end in; the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(10.0)

    def remove(self) -> None:
        """SIGKILL to all, as `docker rm -f`."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._process.wait()

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
