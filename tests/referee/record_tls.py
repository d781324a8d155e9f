"""Records what clients see of a real Apache Kafka's TLS listeners: `golden/tls_4.3.0.json`.

python tests/referee/record_tls.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from apache_kafka import ApacheKafka, available, free_ports, version

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import tls_sweep as tls

GOLDEN = Path(__file__).parents[1] / "golden"


def main() -> int:
    if not available():
        print("the referee needs Java 17, and Maven to fetch Apache Kafka once", file=sys.stderr)
        return 2
    port = free_ports()
    ports = {**tls.free_listeners(), "PLAINTEXT": port}
    with tempfile.TemporaryDirectory(prefix="tls-") as folder:
        certificates = tls.Certificates(Path(folder) / "certificates")
        settings = tls.settings(ports, certificates)
        # a file of properties reads a backslash as the beginning of an escape
        settings = {name: value.replace("\\", "\\\\") for name, value in settings.items()}
        settings["listeners"] += f",CONTROLLER://127.0.0.1:{port + 1}"
        with ApacheKafka(Path(folder) / "kafka", port, settings) as kafka:
            kafka.start()
            tls.prepare(ports)
            found = tls.sweep(ports, certificates)
            kafka.stop()
    (GOLDEN / f"tls_{version()}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
