"""What the recorders of listeners with TLS and SASL share."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from apache_kafka import ApacheKafka, available, free_ports, version

GOLDEN = Path(__file__).parents[1] / "golden"
Ports = Mapping[str, int]


def record(
    name: str,
    ports: Ports,
    settings_of: Callable[[Ports], dict[str, str]],
    prepare: Callable[[Ports], None],
    sweep: Callable[[Ports], Mapping[str, Any]],
) -> int:
    """Write `golden/NAME_VERSION.json`: what `sweep` sees of an Apache Kafka with these listeners. Returns the exit status."""
    if not available():
        print("the referee needs Java 17, and Maven to fetch Apache Kafka once", file=sys.stderr)
        return 2
    port = free_ports()
    ports = {**ports, "PLAINTEXT": port}
    # a file of properties reads a backslash as the beginning of an escape
    settings = {key: value.replace("\\", "\\\\") for key, value in settings_of(ports).items()}
    settings["listeners"] += f",CONTROLLER://127.0.0.1:{port + 1}"
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder, ApacheKafka(Path(folder), port, settings) as kafka:
        kafka.start()
        prepare(ports)
        found = sweep(ports)
        kafka.stop()
    lines = [f" {json.dumps(what, ensure_ascii=False)}: {json.dumps(seen, ensure_ascii=False)}" for what, seen in found.items()]
    (GOLDEN / f"{name}_{version()}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0
