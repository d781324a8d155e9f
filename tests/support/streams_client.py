"""A stream thread over the wire, well-behaved: it takes and gives up what it is told to, and says what it has when that changed."""

from __future__ import annotations

from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from support.process import wait_until
from support.simbroker import build
from support.wire import Connection

REBALANCE_TIMEOUT_MS = 300_000
PATIENCE_SECONDS = 20.0
_GROUP = 32  # resource type
_SET = 0
Tasks = dict[str, list[int]]


def configure(connection: Connection, group: str, **settings: int | str) -> None:
    """Settings of the group's own; `_` stands for `.`, `streams.` goes without saying."""
    request = messages.IncrementalAlterConfigsRequest
    entry = request.AlterConfigsResource.AlterableConfig
    configs = [entry(name=f"streams.{name.replace('_', '.')}", config_operation=_SET, value=str(value)) for name, value in settings.items()]
    resource = request.AlterConfigsResource(resource_type=_GROUP, resource_name=group, configs=configs)
    answer = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request(resources=[resource], validate_only=False))
    assert answer.responses[0].error_code == 0, answer


def at_once(connection: Connection, group: str, **settings: int | str) -> None:
    """The first assignment does not wait, nor do later ones; heartbeats see settings that were altered before them."""
    configure(connection, group, **{"initial_rebalance_delay_ms": 0, "assignment_interval_ms": 0, **settings})


def info(name: str, partitions: int = 0, **configs: str) -> dict[str, Any]:
    """An internal topic."""
    pairs = [{"key": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return {"name": name, "partitions": partitions, "replication_factor": 0, "topic_configs": pairs}


def part(subtopology_id: str, *sources: str, **fields: Any) -> dict[str, Any]:
    """A subtopology."""
    empty: dict[str, list[Any]] = {
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    return {"subtopology_id": subtopology_id, "source_topics": list(sources), **empty, **fields}


def copartitioned(sources: list[int], repartitions: list[int]) -> dict[str, list[int]]:
    return {"source_topics": sources, "source_topic_regex": [], "repartition_source_topics": repartitions}


class StreamsClient:
    def __init__(
        self, connection: Connection, group: str, member_id: str, *parts: dict[str, Any], process_id: str = "p1", topology_epoch: int = 0
    ) -> None:
        self.connection = connection
        self.group = group
        self.member_id = member_id
        self.process_id = process_id
        self.topology = {"epoch": topology_epoch, "subtopologies": list(parts)}
        self.epoch = 0
        self.active: Tasks = {}
        self.standby: Tasks = {}
        self._told = True

    def send(self, **fields: Any) -> Any:
        """One request as it is."""
        plain: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "endpoint_information_epoch": 0,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout_ms": -1,
            "topology": None,
            "active_tasks": None,
            "standby_tasks": None,
            "warmup_tasks": None,
            "process_id": None,
            "user_endpoint": None,
            "client_tags": None,
            "task_offsets": None,
            "task_end_offsets": None,
            "shutdown_application": False,
        }
        return self.connection.request(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, build(messages.StreamsGroupHeartbeatRequest, {**plain, **fields}))

    def ask_to_join(self, **fields: Any) -> Any:
        """Epoch 0, with the topology."""
        first = {
            "member_epoch": 0,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "topology": self.topology,
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "process_id": self.process_id,
        }
        return self._taken(self.send(**{**first, **fields}))

    def join(self, **fields: Any) -> Any:
        """The same; it succeeds, also when the group's own settings are not everywhere yet."""
        answer = self.ask_to_join(**fields)
        assert answer.error_code == 0, answer
        return answer

    def beat(self, **fields: Any) -> Any:
        """A later heartbeat; with what it has, if that changed."""
        has = {} if self._told else {"active_tasks": _ids(self.active), "standby_tasks": _ids(self.standby), "warmup_tasks": []}
        self._told = True
        answer = self._taken(self.send(**{**has, **fields}))
        assert answer.error_code == 0, answer
        return answer

    def leave(self, **fields: Any) -> Any:
        answer = self.send(member_epoch=-1, **fields)
        assert answer.error_code == 0, answer
        return answer

    def _taken(self, answer: Any) -> Any:
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self.active = {each.subtopology_id: sorted(each.partitions) for each in answer.active_tasks}
                self.standby = {each.subtopology_id: sorted(each.partitions) for each in answer.standby_tasks}
                self._told = False
        return answer


def settle(*clients: StreamsClient, done: Any) -> None:
    """Heartbeats of all, in turn, until `done()`."""

    def settled() -> bool:
        for client in clients:
            client.beat()
        return bool(done())

    wait_until(settled, PATIENCE_SECONDS, "tasks")


def describe(connection: Connection, group: str) -> Any:
    """The group, as StreamsGroupDescribe tells it."""
    answer = connection.request(ApiKey.STREAMS_GROUP_DESCRIBE, 0, {"group_ids": [group], "include_authorized_operations": False})
    return answer.groups[0]


def _ids(tasks: Tasks) -> list[dict[str, Any]]:
    return [{"subtopology_id": subtopology, "partitions": partitions} for subtopology, partitions in tasks.items()]
