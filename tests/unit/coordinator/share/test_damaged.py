"""Any batch of `__share_group_state` damaged: the others are as they were, and no record counts as done that nobody acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister
from oncelog.coordinator.share.state import ShareState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.storage.audit.verify import verify
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, OsFileSystem
from support.damage import Partition
from support.inline import InlineFlusher, SeededRandom
from support.share_bench import ACKNOWLEDGED, batch
from support.txn_bench import HandClock

CONFIG = ShareCoordinatorConfig(state_topic_num_partitions=1, snapshot_update_records_per_snapshot=3)
GROUPS = ("a", "b", "c")
STATES = dict[str, ShareState]


class Machine:
    """A persister on a real folder."""

    def __init__(self, path: Path) -> None:
        env = Env(HandClock(), SeededRandom(1), OsFileSystem())
        self.logs = LogManager(env, path, LogConfig(), InlineFlusher())
        self.logs.start()
        self.persister = SharePersister(env, self.logs, CONFIG)
        if self.logs.topics.get("orders") is None:
            self.logs.create_topic("orders", 1)
        self.persister.start()

    def key(self, group: str) -> SharePartitionKey:
        topic = self.logs.topics.get("orders")
        assert topic is not None
        return SharePartitionKey(group, topic.topic_id, 0)

    def states(self) -> STATES:
        return {key.group_id: state for key, state in self.persister.runtime.shard(0).states.items()}


def written(path: Path) -> tuple[STATES, list[str]]:
    """What is known in the end, and whose each batch is."""
    machine, owners = Machine(path), list[str]()
    for group in GROUPS:
        machine.persister.initialize(machine.key(group), 3, 0)
        owners.append(group)
    for n in range(6):
        for group in GROUPS:
            done = [batch(2 * n, 2 * n, ACKNOWLEDGED), batch(2 * n + 1, 2 * n + 1)]
            assert machine.persister.write(machine.key(group), 3, 0, 0, n + 1, done) is ErrorCode.NONE
            owners.append(group)
    known = machine.states()
    machine.logs.stop()
    return known, owners


def said(state: ShareState) -> dict[int, tuple[int, int]]:
    return {n: (one.delivery_count, one.delivery_state) for one in state.batches for n in range(one.first_offset, one.last_offset + 1)}


@pytest.mark.parametrize("number", [0, 1, 5, 9, 12, 14, 16, 20])
def test_a_batch_that_is_damaged_takes_nothing_of_others(number: int, tmp_path: Path) -> None:
    known, owners = written(tmp_path)
    assert len(owners) == 21
    hit = owners[number]
    Partition(tmp_path, f"{SHARE_GROUP_STATE}-0").change(number, lambda data: data.__setitem__(-1, data[-1] ^ 1), crc=False)
    assert not verify(tmp_path).sound
    machine = Machine(tmp_path)
    found = machine.states()
    assert {group: state.batches for group, state in found.items() if group != hit} == {
        group: state.batches for group, state in known.items() if group != hit
    }
    state = found[hit]
    assert state.state_epoch in (0, 3)
    assert said(state).items() <= said(known[hit]).items()
    assert machine.persister.write(machine.key(hit), 3, 0, -1, 6, [batch(40, 41)]) is ErrorCode.NONE  # and it goes on
    machine.logs.stop()
    again = Machine(tmp_path)
    assert said(again.states()[hit])[40] == (1, 0)
    again.logs.stop()
