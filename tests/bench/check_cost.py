"""`python -m tests.bench.check_cost`: processor time that the check of every record costs a produce request, beside that of the CRC."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from oncelog.protocol.compression import Codec, decompress
from oncelog.protocol.primitives import crc32c
from oncelog.protocol.record_walk import Allowance, RecordWalk
from oncelog.protocol.records import HEADER_SIZE, NewRecord, build_batch

T = 1_700_000_000_000
ENOUGH_SECONDS = 0.2


def main() -> None:
    rng = random.Random(1)
    shapes: dict[str, list[NewRecord]] = {
        "1 record of 100 bytes": [(T, None, bytes(100))],
        "16 records of 1 KiB": [(T + n // 10, None, bytes(1024)) for n in range(16)],
        "160 records of 100 bytes": [(T + n // 10, None, bytes(100)) for n in range(160)],
        "10,000 records of 100 bytes": [(T + n // 10, None, bytes(100)) for n in range(10_000)],
        "160 records of 90 to 110 bytes": [(T + n // 10, None, bytes(rng.randrange(90, 110))) for n in range(160)],
        "10,000 keyed records of 20 to 110 bytes": [(T + n // 10, b"key-%d" % n, bytes(rng.randrange(20, 110))) for n in range(10_000)],
        "1,000 records with two headers": [(T + n // 10, b"k", bytes(50), [("a", b"b"), ("c", None)]) for n in range(1000)],
    }
    print(f"{'':42}{'ns a record':>12}{'us a batch':>12}{'CRC us':>10}{'unpack zstd us':>16}")
    for name, rows in shapes.items():
        batch = build_batch(rows)
        packed = memoryview(build_batch(rows, codec=Codec.ZSTD))[HEADER_SIZE:]
        walk = _seconds(lambda batch=batch, rows=rows: RecordWalk(memoryview(batch)[HEADER_SIZE:], len(rows)).run(Allowance(1 << 40)))  # type: ignore[misc]
        crc = _seconds(lambda batch=batch: crc32c(batch))  # type: ignore[misc]
        unpack = _seconds(lambda packed=packed: decompress(Codec.ZSTD, packed))  # type: ignore[misc]
        print(f"{name:42}{walk / len(rows) * 1e9:12.0f}{walk * 1e6:12.1f}{crc * 1e6:10.1f}{unpack * 1e6:16.1f}")


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    calls, begin = 0, time.process_time()
    while (took := time.process_time() - begin) < ENOUGH_SECONDS:
        work()
        calls += 1
    return took / calls


if __name__ == "__main__":
    main()
