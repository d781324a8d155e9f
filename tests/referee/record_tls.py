"""Records what clients see of a real Apache Kafka's TLS listeners: `golden/tls_4.3.0.json`.

python tests/referee/record_tls.py
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from recording import record

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import tls_sweep as tls


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="certificates-") as folder:
        certificates = tls.Certificates(Path(folder))
        settings, sweep = partial(tls.settings, certificates=certificates), partial(tls.sweep, certificates=certificates)
        return record("tls", tls.free_listeners(), settings, tls.prepare, sweep)


if __name__ == "__main__":
    sys.exit(main())
