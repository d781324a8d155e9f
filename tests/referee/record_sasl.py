"""Records what a real Apache Kafka answers to logins of every kind, in and out of order: `golden/sasl_4.3.0.json`.

python tests/referee/record_sasl.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from recording import record

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import sasl_sweep as sasl

if __name__ == "__main__":
    sys.exit(record("sasl", sasl.free_listeners(), sasl.settings, sasl.prepare, sasl.sweep))
