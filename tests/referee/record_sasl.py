"""Records what a real Apache Kafka answers to logins of every kind, in and out of order: `golden/sasl_4.3.0.json`.

python tests/referee/record_sasl.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from apache_kafka import ApacheKafka, available, free_ports, version

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import sasl_sweep as sasl

GOLDEN = Path(__file__).parents[1] / "golden"


def main() -> int:
    if not available():
        print("the referee needs Java 17, and Maven to fetch Apache Kafka once", file=sys.stderr)
        return 2
    port = free_ports()
    ports = {**sasl.free_listeners(), "PLAINTEXT": port}
    settings = sasl.settings(ports)
    settings["listeners"] += f",CONTROLLER://127.0.0.1:{port + 1}"
    with tempfile.TemporaryDirectory(prefix="sasl-") as folder, ApacheKafka(Path(folder), port, settings) as kafka:
        kafka.start()
        sasl.prepare(ports)
        found = sasl.sweep(ports)
        kafka.stop()
    lines = [f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(seen, ensure_ascii=False)}" for name, seen in found.items()]
    (GOLDEN / f"sasl_{version()}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
