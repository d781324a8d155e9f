"""The wire and client tests against a real Apache Kafka: our expectation is right when Kafka passes it too.

    python tests/referee/run.py [PYTEST ARGUMENT …]

Starts one fresh node, runs `pytest tests/wire tests/clients --bootstrap …` against it, stops it, and ends with pytest's status.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from apache_kafka import ApacheKafka, available, free_ports, version

ROOT = Path(__file__).parents[2]
TESTS = ("tests/wire", "tests/clients")


def main(arguments: list[str]) -> int:
    if not available():
        print("the referee needs Java 17, and Maven to fetch Apache Kafka once", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="referee-") as folder, ApacheKafka(Path(folder), free_ports()) as kafka:
        kafka.start()
        print(f"Apache Kafka {version()} on {kafka.bootstrap}", flush=True)
        command = [sys.executable, "-m", "pytest", *TESTS, "--bootstrap", kafka.bootstrap, "-m", "not java and not bench", *arguments]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        kafka.stop()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
