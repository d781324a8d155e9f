"""Records what a real Apache Kafka with its StandardAuthorizer answers to every request of every user: `golden/rights_4.3.0.json`.

python tests/referee/record_rights.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from apache_kafka import ApacheKafka, available, free_ports, version

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import rights_sweep as rights

GOLDEN = Path(__file__).parents[1] / "golden"


def main() -> int:
    if not available():
        print("the referee needs Java 17, and Maven to fetch Apache Kafka once", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rights-") as folder, ApacheKafka(Path(folder), free_ports(), rights.settings()) as kafka:
        kafka.start()
        rights.prepare(kafka.bootstrap)
        found = rights.sweep(kafka.bootstrap)
        kafka.stop()
    grouped: dict[str, dict[str, list[str]]] = {}
    for request, by_user in found.items():
        for user, codes in by_user.items():
            grouped.setdefault(request, {}).setdefault(codes, []).append(user)
    lines = {request: {codes: " ".join(users) for codes, users in by_codes.items()} for request, by_codes in grouped.items()}
    (GOLDEN / f"rights_{version()}.json").write_text(json.dumps(lines, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
