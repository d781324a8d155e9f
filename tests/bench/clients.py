"""Programs of stock clients: librdkafka through Python, and Kafka's own in Java, compiled at need into the user's cache folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.bench.generators import Window, parse, told
from tests.bench.load import Result
from tests.bench.servers import Unavailable, built_folder
from tests.referee import apache_kafka

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("java") / "Load.java"
LIBRDKAFKA, JAVA = "librdkafka", "Java"


@cache
def classes() -> Path:
    """The folder with the compiled Java program. Raises Unavailable without a JDK and the jars."""
    folder = built_folder(SOURCE) / apache_kafka.version()
    if (folder / "Load.class").exists():
        return folder
    if shutil.which("javac") is None or not apache_kafka.available():
        raise Unavailable("Kafka's own clients need a JDK and Maven")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["javac", "-cp", f"{apache_kafka.jars()}/*", "-d", str(folder), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{SOURCE.name} does not compile: {done.stderr.strip()[-500:]}")
    return folder


def command(language: str) -> list[str]:
    """What starts the program, as far as its arguments."""
    if language == LIBRDKAFKA:
        return [sys.executable, str(ROOT / "tests" / "bench" / "librdkafka.py")]
    jars = f"{classes()}:{apache_kafka.jars()}/*"
    return ["java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", jars, "Load"]


def run(
    language: str, mode: str, bootstrap: str, topic: str, argument: int, *, warm_seconds: float, seconds: float, window: Window
) -> Result:
    """What it counted; `window` is open meanwhile."""
    asked = [mode, bootstrap, topic, f"{warm_seconds:g}", f"{seconds:g}", str(argument)]
    return parse(told([*command(language), *asked], window, warm_seconds + seconds))
