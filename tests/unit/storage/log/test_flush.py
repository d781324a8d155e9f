"""Group commit and power cuts: what was acknowledged stays."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from oncelog.storage.log.flush import ThreadFlusher
from support.flushed_when_told import sim
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("seed", range(150))
def test_case_43_power_cut_keeps_every_acknowledged_batch(seed: int) -> None:
    kit, fs, flusher = sim(seed)
    chance = random.Random(seed)
    acknowledged: list[int] = []
    sequence = 0
    for _ in range(4):
        for _ in range(chance.randrange(60)):
            info = kit.append(sequence, pid=7)
            sequence += 1
            kit.log.when_durable(info.last_offset + 1, lambda error, offset=info.base_offset: acknowledged.append(offset))  # type: ignore[misc]
            if chance.random() < 0.2:
                flusher.flush()
            if chance.random() < 0.02:
                kit.manager.chores.write_checkpoints(everything=True)
        fs.crash()
        flusher.wanted.clear()
        kit.start()
        seen = offsets(kit.log)
        assert set(acknowledged) <= set(seen), f"seed {seed}"
        assert seen == list(range(len(seen)))
        entry = kit.log.state.get(7)
        assert (entry.last_sequence if entry else -1) == kit.log.log_end_offset - 1
        sequence = kit.log.log_end_offset


def test_thread_flusher_completes_on_the_loop(tmp_path: Path) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        flusher = ThreadFlusher(loop)
        kit = Kit(tmp_path / "data", flusher=flusher)
        kit.create()
        done: list[asyncio.Future[int]] = []
        for number in range(300):
            future: asyncio.Future[int] = loop.create_future()
            info = kit.append(number, pid=7)
            kit.log.when_durable(info.last_offset + 1, lambda error, f=future, o=info.base_offset: f.set_result(o))  # type: ignore[misc]
            done.append(future)
            if number % 20 == 0:
                await asyncio.sleep(0)
        async with asyncio.timeout(20):
            assert await asyncio.gather(*done) == list(range(300))
        assert kit.log.high_watermark == 300
        kit.stop()

    asyncio.run(main())


def test_what_a_kill_left_in_the_page_cache_survives_the_next_power_cut() -> None:
    kit, fs, _ = sim(5)
    for number in range(20):
        kit.append(number, pid=7)
    fs.kill()
    kit.start()
    assert kit.log.high_watermark == 20
    fs.crash()
    kit.start()
    assert offsets(kit.log) == list(range(20))
