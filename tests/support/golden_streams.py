"""Replays the recorded conversations of golden/streams: what was set up before each, and what was done between its entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

from support.golden_clients import ClientReplay, Setup, Step
from support.golden_clients_setup import all_of
from support.process import wait_until
from support.streams_client import PATIENCE_SECONDS, configure
from support.wire import Connection

AT_ONCE: Mapping[str, int] = {"initial_rebalance_delay_ms": 0, "assignment_interval_ms": 0}


class StreamsReplay(ClientReplay):
    """The topics are in the recording; groups are named after their case."""

    def __init__(self, bootstrap: str, case: dict[str, Any], setup: Setup, *, ours: bool) -> None:
        super().__init__(bootstrap, case, setup, ours=ours)
        self.prefix = f"g-{self.prefix}"

    def go(self) -> None:
        super().go()
        for entry in self.case["setup"]:
            for topic in entry["request"]["topics"]:
                self.remove(topic["name"])  # others record with that name, too

    def create_topics(self) -> None:
        self.made_before(0)

    def made_before(self, number: int) -> None:
        for entry in self.case["setup"]:
            if entry["before"] == number:
                for topic in entry["request"]["topics"]:
                    self.remove(topic["name"])
                    self.create(topic["name"], topic["num_partitions"])

    def remove(self, name: str) -> None:
        """What another recording may have left of that name."""
        asked = messages.DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000)

        def gone() -> bool:
            answer = self.connection("setup").request(ApiKey.DELETE_TOPICS, 5, asked)
            return bool(answer.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

        wait_until(gone, PATIENCE_SECONDS, f"no topic {name}")

    def play(self, connection: Connection, entry: dict[str, Any]) -> None:
        if entry["n"]:
            self.made_before(entry["n"])
        super().play(connection, entry)

    def check(self, entry: dict[str, Any], frame: bytes | None) -> None:
        """Texts too: they are part of the protocol of streams groups as much as codes are."""
        super().check(entry, frame)
        assert frame is not None
        if entry["key"] == ApiKey.STREAMS_GROUP_HEARTBEAT:
            text = self.renamed(entry["response"]["error_message"])
            assert self.decoded(entry, frame).error_message == text, self.where(entry)


def own(group: str, **settings: int) -> Step:
    """Settings of the group."""
    return lambda replay: configure(replay.connection("setup"), group, **settings)


def beaten(entry: int, epoch: int, *, from_epoch: int, owned: list[int] | None = None) -> Step:
    """Heartbeats of who joined with `entry`, until it is at `epoch` and nothing changes. `owned`: tasks of subtopology 0 it says it has."""

    def run(replay: ClientReplay) -> None:
        first = replay.entries[entry]["request"]
        request = messages.StreamsGroupHeartbeatRequest
        current, has = from_epoch, owned

        def reached() -> bool:
            nonlocal current, has
            tasks = None if has is None else [request.TaskIds(subtopology_id="0", partitions=has)] if has else []
            others = None if tasks is None else []
            asked = request(
                group_id=first["group_id"],
                member_id=replay.live.get(first["member_id"], first["member_id"]),
                member_epoch=current,
                active_tasks=tasks,
                standby_tasks=others,
                warmup_tasks=others,
            )
            answer = replay.connection("setup").request(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, asked)
            assert answer.error_code == 0, answer
            current = answer.member_epoch
            has = None if answer.active_tasks is None else [p for each in answer.active_tasks for p in each.partitions]
            return current >= epoch and answer.active_tasks is None

        wait_until(reached, PATIENCE_SECONDS, f"{first['group_id']}: epoch {epoch}")

    return run


def at_once(group: str, *others: Step, **settings: int) -> Step:
    return all_of(own(group, **{**AT_ONCE, **settings}), *others)


def _setups() -> dict[str, Setup]:
    found = {f"T{n:02}": Setup(prepare=at_once(f"g-t{n:02}")) for n in range(1, 34)}
    found["T01"] = Setup(before={1: beaten(0, 2, from_epoch=1)})
    found["T06"] = Setup(prepare=at_once("g-t06"))
    found["T12"] = Setup(prepare=at_once("g-t12"), before={1: beaten(0, 3, from_epoch=2)})
    found["T13"] = Setup(
        prepare=own("g-t13", initial_rebalance_delay_ms=0),
        ours_differs={6: "NotReady finds such groups, where Kafka knows not_ready alone"},
    )
    found["T14"] = Setup(prepare=at_once("g-t14", num_standby_replicas=1), before={1: beaten(0, 3, from_epoch=2)})
    found["T16"] = Setup(prepare=own("g-t16", initial_rebalance_delay_ms=0, assignment_interval_ms=15_000))
    found["T23"] = Setup(prepare=at_once("g-t23", heartbeat_interval_ms=6_000))
    found["T31"] = Setup(prepare=own("g-t31", initial_rebalance_delay_ms=0))
    return found


SETUP = _setups()
