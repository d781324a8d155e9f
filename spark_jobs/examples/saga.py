"""A saga: a booking in three steps by three services; when one refuses, the steps before it are taken back.

    python -m oncelog.spark_jobs.examples.saga [--bootstrap-servers HOST:PORT] [--crashes 4] [--seed 1]

flight → hotel → payment, each reading commands and writing events in one transaction with its input offsets. A step that cannot be done
answers "refused", and the services before it get "cancel". Workers crash on the way. At the end every booking is either complete or
wholly taken
back: prints how many of each, and 0 in between.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from oncelog.spark_jobs.demo_parts.readback import read_all
from oncelog.spark_jobs.examples import common
from oncelog.spark_jobs.examples.consume_transform_produce import CrashError, next_batch, used_up

BOOKINGS = 1000
STEPS = ("flight", "hotel", "payment")
REFUSED_PERCENT = {"flight": 3, "hotel": 7, "payment": 12}


def refuses(step: str, booking: int) -> bool:
    """Does this service refuse this booking? Always the same answer: a retry must not decide anew."""
    return zlib.crc32(f"{step} {booking}".encode()) % 100 < REFUSED_PERCENT[step]


def react(command: dict[str, Any]) -> list[dict[str, Any]]:
    """The whole saga as a function: one command in, what it leads to out ("done", "undone" are facts, the others commands)."""
    step, booking = command["step"], command["booking"]
    place = STEPS.index(step)
    before = {"booking": booking, "do": "cancel", "step": STEPS[place - 1]} if place else None
    if command["do"] == "cancel":
        return [{"booking": booking, "fact": "undone", "step": step}, *([before] if before else [])]
    if refuses(step, booking):
        return [{"booking": booking, "fact": "refused", "step": step}, *([before] if before else [])]
    after = [{"booking": booking, "do": "reserve", "step": STEPS[place + 1]}] if place + 1 < len(STEPS) else []
    return [{"booking": booking, "fact": "done", "step": step}, *after]


def work(bootstrap: str, commands: str, facts: str, crash_in: int) -> None:
    """One worker for all three services; crashes in batch `crash_in` before its commit, or never if that is 0."""
    producer = common.producer(bootstrap, transactional_id=f"{facts}-saga", transaction_timeout_ms=10_000)
    producer.init_transactions(30)
    consumer = common.consumer(bootstrap, f"{facts}-saga", [commands])
    try:
        number = 0
        while (messages := next_batch(consumer)) or not used_up(consumer, commands):
            if not messages:
                continue
            number += 1
            producer.begin_transaction()
            for message in messages:
                for outcome in react(json.loads(message.value())):
                    producer.produce(commands if "do" in outcome else facts, json.dumps(outcome).encode(), message.key())
            if number == crash_in:
                producer.flush()
                raise CrashError
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
    finally:
        consumer.close()


def outcomes(bootstrap: str, facts: str) -> Counter[str]:
    """complete, taken back, or something in between, per booking; a fact that came twice counts as "repeated"."""
    found: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    for message in read_all(bootstrap, facts):
        fact = json.loads(message.value or b"{}")
        found[fact["booking"]][fact["step"], fact["fact"]] += 1
    return Counter(outcome(found[booking]) for booking in range(BOOKINGS))


def outcome(facts: Counter[tuple[str, str]]) -> str:
    """What the facts about one booking add up to."""
    if any(count > 1 for count in facts.values()):
        return "repeated"
    done, undone = ({step for step, fact in facts if fact == kind} for kind in ("done", "undone"))
    if done == set(STEPS) and not undone:
        return "complete"
    refused = [step for step, fact in facts if fact == "refused"]
    return "taken back" if len(refused) == 1 and done == undone else "in between"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = common.parser("saga", __doc__)
    parser.add_argument("--crashes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    with common.kafka(options.bootstrap_servers) as bootstrap:
        commands, facts = common.new_topic(bootstrap, "saga-commands"), common.new_topic(bootstrap, "saga-facts")
        bookings = [(str(number), json.dumps({"booking": number, "do": "reserve", "step": STEPS[0]})) for number in range(BOOKINGS)]
        common.send_all(common.producer(bootstrap), commands, bookings)
        for life in range(options.crashes + 1):
            try:
                work(bootstrap, commands, facts, dice.randint(1, 4) if life < options.crashes else 0)
                break
            except CrashError:
                print(f"worker {life + 1} crashed in mid-transaction")
        found = outcomes(bootstrap, facts)
    print(
        f"bookings={BOOKINGS} "
        + " ".join(f"{name.replace(' ', '_')}={found[name]}" for name in ("complete", "taken back", "in between", "repeated"))
    )
    return 0 if found["complete"] + found["taken back"] == BOOKINGS else 1


if __name__ == "__main__":
    sys.exit(main())
