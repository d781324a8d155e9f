"""K2: kill -9 inside EndTxn over 400 partitions, and after its answer: all or nothing, what was answered is visible, nothing hangs."""

from __future__ import annotations

import random
import time

import pytest
from oncelog.protocol.errors import ErrorCode as E
from support.killing import Client, Committed, KillingBroker, Rounds

PARTITIONS = 400
EVERYWHERE = range(PARTITIONS)
# What an end changes on the disk, in order: Prepare and its fdatasync, a marker for each partition, Complete, 401 times fdatasync.
BEFORE_PREPARE, PREPARE_NOT_SYNCED, FIRST_MARKER, COMPLETE = 1, 2, 3, 3 + PARTITIONS
ANSWERED = COMPLETE + PARTITIONS + 2
CORNERS = (BEFORE_PREPARE, PREPARE_NOT_SYNCED, FIRST_MARKER, FIRST_MARKER + 1, COMPLETE - 1, COMPLETE, COMPLETE + 1, ANSWERED - 1, ANSWERED)
CHANGES = (*CORNERS * 30, *range(1, ANSWERED + 5))


def stage(how: str) -> str:
    kind, _, nth = how.partition(" ")
    if kind != "change":
        return "from outside"
    if int(nth) <= PREPARE_NOT_SYNCED:
        return "before Prepare is durable"
    return "between markers" if int(nth) < COMPLETE else "before Complete" if int(nth) == COMPLETE else "before the answer, or after"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("tv2", [False, True], ids=["version0", "version2"])
def test_k2_a_kill_inside_end_txn_leaves_all_or_nothing(rounds: Rounds, tv2: bool) -> None:
    """The client asks again and is told what it was promised, or another instance takes over; all 400 partitions agree."""
    usual_seconds = 0.03

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        nonlocal usual_seconds
        client = Client(broker, "t", tv2=tv2)
        assert client.init() is E.NONE
        client.write(EVERYWHERE, b"value")
        commit = chance.random() < 0.7
        how = broker.doom(chance, CHANGES, 1.3 * usual_seconds)
        begun = time.perf_counter()
        try:
            told: E | None = client.end(commit)
        except ConnectionError:
            told = None
        else:
            usual_seconds = time.perf_counter() - begun
            assert told is E.NONE
        rounds.counts["killed " + stage(how)] += 1
        rounds.counts["answered"] += told is not None
        broker.revive()
        if told is None and chance.random() < 0.3:
            heir = Client(broker, "t", tv2=tv2)
            assert heir.init() is E.NONE
            assert client.end(commit) in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
            rounds.counts["taken over"] += 1
        elif told is None:
            told = client.end(commit)
            assert told is E.NONE
        if chance.random() < 0.2:
            broker.revive()
        seen = reader.read_all(broker)
        everything: dict[int, list[bytes]] = {n: [b"value"] for n in EVERYWHERE}
        nothing: dict[int, list[bytes]] = {n: [] for n in EVERYWHERE}
        legal = [nothing] if not commit else [everything] if told is E.NONE else [everything, nothing]
        assert seen in legal, f"torn or lost: {sum(map(len, seen.values()))} of {PARTITIONS}; {how} {commit=} {told=}"

    rounds(PARTITIONS, live)
