"""What clients may rely on after kill -9, where other brokers are known to fail; each round is killed at another point.

K1 a new instance aborts the transaction of the old one; K3 an open transaction hides later commits for its timeout only; K4 who is fenced
stays fenced; K5 acknowledged batches are known again; K6 a commit that races with a new instance has one of two ends. K2, over 400
partitions, is in `test_killed_in_end_txn.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from support.killing import BUSY, Client, Committed, KillingBroker, Rounds
from support.process import wait_until

pytestmark = pytest.mark.timeout(0)
T = TypeVar("T")
PARTITIONS = 4
EVERYWHERE = range(PARTITIONS)
SHORT_TIMEOUT_MS = 1_500
RACES = 20
REFUSED = {E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_TXN_STATE}
NOTHING: dict[int, list[bytes]] = {n: [] for n in EVERYWHERE}


def everywhere(value: bytes) -> dict[int, list[bytes]]:
    return {n: [value] for n in EVERYWHERE}


@pytest.mark.parametrize("journal_bytes", ["0", "67108864"], ids=["plain", "journal"])
def test_k1_a_new_instance_aborts_what_the_old_one_had_open(rounds: Rounds, journal_bytes: str) -> None:
    """Killed while it does: once the new instance heard anything at all, the old one cannot commit any more."""
    rounds.overrides["oncelog.journal.bytes"] = journal_bytes

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        tv2 = chance.random() < 0.5
        old, heir = (Client(broker, f"id-{tv2}", tv2=tv2) for _ in range(2))
        assert old.init() is E.NONE
        old.write(EVERYWHERE, b"old")
        rounds.killed(broker.doom(chance, range(1, 2 * PARTITIONS + 8), 0.01))
        told = ask_until_dead(lambda: E(heir.call(ApiKey.INIT_PRODUCER_ID, 5, heir.init_fields()).error_code))
        rounds.counts["killed before any answer"] += not told
        broker.revive()
        if told and chance.random() < 0.5:
            assert old.end(commit=True) in REFUSED
        assert heir.init() is E.NONE
        assert old.end(commit=True) in REFUSED
        assert reader.read_all(broker) == NOTHING, "records of the old instance show"
        heir.write(EVERYWHERE, b"heir")
        assert heir.end(commit=True) is E.NONE
        assert reader.read_all(broker) == everywhere(b"heir")

    rounds(PARTITIONS, live)


def test_k3_an_open_transaction_hides_later_commits_for_its_timeout_only(rounds: Rounds) -> None:
    """Killed while another producer commits behind it. It ends by its timeout, or when a new instance comes, whatever is first."""

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        tv2 = chance.random() < 0.5
        idler = Client(broker, f"idler-{tv2}", tv2=tv2, timeout_ms=SHORT_TIMEOUT_MS)
        worker = Client(broker, f"worker-{tv2}", tv2=tv2)
        assert idler.init() is E.NONE
        assert worker.init() is E.NONE
        idler.write(EVERYWHERE, b"open")
        worker.write(EVERYWHERE, b"done")
        rounds.killed(broker.doom(chance, range(1, 2 * PARTITIONS + 8), 0.01))
        ask_until_dead(lambda: worker.end(commit=True))
        broker.revive()
        if (again := worker.end(commit=True)) is not E.NONE:  # version 2: the first answer was told, this is another transaction's end
            assert tv2
            assert again is E.INVALID_TXN_STATE
        if chance.random() < 0.5:
            assert Client(broker, idler.id, tv2=tv2).init() is E.NONE
            rounds.counts["ended by a new instance"] += 1
        seen = wait_until(lambda: reader.read(broker), SHORT_TIMEOUT_MS / 1000 + 5, "the end of the open transaction")
        assert seen == everywhere(b"done")
        assert idler.end(commit=True) in REFUSED

    rounds(PARTITIONS, live)


def test_k4_who_is_fenced_stays_fenced(rounds: Rounds) -> None:
    """Neither live nor after kill -9 does a stale epoch get anything done, whatever request it comes with."""

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        tv2 = chance.random() < 0.5
        zombie, heir = (Client(broker, f"id-{tv2}", tv2=tv2) for _ in range(2))
        assert zombie.init() is E.NONE
        if chance.random() < 0.7:
            zombie.write(EVERYWHERE, b"zombie")
        assert heir.init() is E.NONE
        stale = zombie.pair
        attempts: list[Callable[[], set[E]]] = [
            lambda: {error for error, _ in zombie.produce(EVERYWHERE, b"zombie", 1)},
            lambda: zombie.add(EVERYWHERE),
            lambda: {zombie.add_offsets("group")},
            lambda: {zombie.end(commit=True)},
            lambda: {zombie.end(commit=False)},
            lambda: {zombie.init(stale)},
        ]

        def haunt() -> None:
            for attempt in chance.sample(attempts, len(attempts)):
                answer = attempt()
                assert answer, "no answer at all"
                assert answer <= REFUSED, answer
                assert zombie.pair == stale
                rounds.counts["attempts refused"] += 1

        haunt()
        rounds.killed(broker.doom(chance, range(1, PARTITIONS + 6), 0.01))
        ask_until_dead(haunt)
        ask_until_dead(lambda: heir.write(EVERYWHERE, b"lost"))
        broker.revive()
        haunt()
        assert heir.init() is E.NONE  # whatever it had begun ends here
        haunt()
        heir.write(EVERYWHERE, b"heir")
        assert heir.end(commit=True) is E.NONE
        haunt()
        assert reader.read_all(broker) == everywhere(b"heir")

    rounds(PARTITIONS, live)


def test_k5_acknowledged_batches_are_known_after_a_kill(rounds: Rounds) -> None:
    """Each of the last five, of an idempotent and of a transactional producer, is answered with its old offset, and is there once."""
    batches = 7

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        kind = chance.choice((None, False, True))  # no transactions, version 0, version 2
        client = Client(broker, None if kind is None else f"id-{kind}", tv2=kind is True)
        place = range(chance.randrange(PARTITIONS), PARTITIONS)[:1]
        assert client.init() is E.NONE
        if kind is False:
            assert client.add(place) == {E.NONE}
        answers = [client.produce(place, b"%d" % n, n) for n in range(batches)]
        assert {error for [(error, _)] in answers} == {E.NONE}
        known = 5
        unsure: list[list[tuple[E, int]]] = []
        if chance.random() < 0.7:  # killed with an eighth under way, which may be one of the five
            rounds.killed(broker.doom(chance, range(1, 5), 0.004))
            unsure = ask_until_dead(lambda: client.produce(place, b"%d" % batches, batches))
            rounds.counts["killed before the answer"] += not unsure
            known = 4
        else:
            rounds.counts["killed between requests"] += 1
        broker.revive()
        assert [client.produce(place, b"%d" % n, n) for n in range(batches - known, batches)] == answers[-known:]
        [(error, offset)] = client.produce(place, b"%d" % batches, batches)
        assert (error, offset) == (E.NONE, answers[-1][0][1] + 1)
        assert not unsure or unsure[0] == [(error, offset)]
        if kind is not None:
            assert client.end(commit=True) is E.NONE
        seen = reader.read_all(broker)
        assert seen == {**NOTHING, place[0]: [b"%d" % n for n in range(batches + 1)]}

    rounds(PARTITIONS, live)


def test_k6_a_commit_that_races_with_a_new_instance_has_one_of_two_ends(rounds: Rounds) -> None:
    """Both requests under way at once, with and without a kill: committed, or fenced and aborted; never an unknown error."""

    def race(broker: KillingBroker, chance: random.Random, tv2: bool) -> tuple[Client, Client, list[E], list[E]]:
        old, heir = (Client(broker, f"id-{tv2}", tv2=tv2) for _ in range(2))
        assert old.init() is E.NONE
        assert heir.add_offsets("warm") in REFUSED  # its connection is there
        old.write(EVERYWHERE, b"old")
        return old, heir, [], []

    def run(old: Client, heir: Client, chance: random.Random, ended: list[E], begun: list[E]) -> None:
        """Send both at once, take both answers."""
        requests = [
            (old, ApiKey.END_TXN, old.end_version, old.end_fields(True), ended),
            (heir, ApiKey.INIT_PRODUCER_ID, 5, heir.init_fields(), begun),
        ]
        chance.shuffle(requests)
        waiting = [(client.send(key, version, fields), answers) for client, key, version, fields, answers in requests]
        for receive, answers in waiting:
            answers.append(E(receive().error_code))

    def check(broker: KillingBroker, old: Client, heir: Client, ended: list[E], begun: list[E], reader: Committed) -> None:
        assert set(begun) <= {E.NONE, E.CONCURRENT_TRANSACTIONS}, begun
        assert set(ended) <= {E.NONE, *BUSY, *REFUSED}, ended
        final = ended[0] if ended and ended[0] not in BUSY else old.end(commit=True)
        assert final in {E.NONE, *REFUSED}, final
        assert heir.init() is E.NONE
        seen = reader.read_all(broker)
        if final is E.NONE:
            assert seen == everywhere(b"old"), f"committed, and {seen}"
        elif ended:  # the first answer was a refusal, or 51 and then a refusal: nothing was decided before
            assert seen == NOTHING, f"refused, and {seen}"
        else:
            assert seen in (NOTHING, everywhere(b"old")), f"torn: {seen}"
        rounds.counts["committed" if final is E.NONE else "fenced"] += 1
        heir.write(EVERYWHERE, b"heir")
        assert heir.end(commit=True) is E.NONE
        assert reader.read_all(broker) == everywhere(b"heir")

    def live(broker: KillingBroker, chance: random.Random, reader: Committed) -> None:
        tv2 = chance.random() < 0.5
        for _ in range(RACES):
            old, heir, ended, begun = race(broker, chance, tv2)
            run(old, heir, chance, ended, begun)
            check(broker, old, heir, ended, begun, reader)
            rounds.counts["races without a kill"] += 1
        old, heir, ended, begun = race(broker, chance, tv2)
        rounds.killed(broker.doom(chance, range(1, 3 * PARTITIONS + 10), 0.01))
        ask_until_dead(lambda: run(old, heir, chance, ended, begun))
        broker.revive()
        check(broker, old, heir, ended, begun, reader)

    rounds(PARTITIONS, live)


def ask_until_dead(ask: Callable[[], T]) -> list[T]:
    """The answer in a list, an empty one when the broker died before it."""
    try:
        return [ask()]
    except ConnectionError:
        return []
