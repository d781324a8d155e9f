"""Comparing a recorded answer with a live one: what varies is dropped, what has no order is sorted, what is others' is left out."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from oncelog.protocol.records import iter_headers

# not the broker's behaviour: where it listens, which node and cluster it is, when it ran
VARIES = frozenset({"host", "port", "node_id", "broker_id", "controller_id", "cluster_id", "error_message", "batch_index_error_message"})
# Kafka answers these from hash maps
UNORDERED = frozenset(
    {
        "ConsumerGroupDescribe",
        "DeleteGroups",
        "DeleteTopics",
        "DescribeClientQuotas",
        "DescribeConfigs",
        "DescribeGroups",
        "DescribeLogDirs",
        "DescribeProducers",
        "JoinGroup",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "Metadata",
        "OffsetCommit",
        "OffsetFetch",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
        "WriteTxnMarkers",
    }
)
# answers that list everything of the broker when the request names nothing: (field asked with, list answered, its name field)
LISTS_ALL = {
    "DescribeTopicPartitions": ("topics", "topics", "name"),
    "ElectLeaders": ("topic_partitions", "replica_election_results", "topic"),
    "ListConfigResources": ("", "config_resources", "resource_name"),
    "ListGroups": ("", "groups", "group_id"),
    "Metadata": ("topics", "topics", "name"),
}
NO_FEATURES = frozenset({"kraft.version"})  # a quorum that other nodes may join is not offered
BROKER_RESOURCES = (4, 8)
NO_UUID = "00000000-0000-0000-0000-000000000000"


def plain_id(value: Any) -> Any:
    """`value` as a key: UUIDs as text, lists and dicts not at all."""
    if isinstance(value, list | dict):
        return None
    return value if value is None or isinstance(value, int | str) else str(value)


def error_codes(value: Any) -> Iterable[int]:
    """Every error code in an answer."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith("error_code") and isinstance(inner, int):
                yield inner
            else:
                yield from error_codes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from error_codes(inner)


def own_part(entry: Mapping[str, Any], answer: Any, prefix: str) -> Any:
    """An answer that lists all topics or groups of the broker, reduced to those of one case."""
    asked, listed, name = LISTS_ALL.get(entry["api"], ("", "", ""))
    if not listed or not isinstance(answer, dict) or (asked and entry["request"].get(asked)):
        return answer
    kept = [
        v
        for v in answer.get(listed) or ()
        if str(v[name]).removeprefix("g-").startswith(prefix) or v.get("resource_type") in BROKER_RESOURCES
    ]
    return {**answer, listed: kept}


def offered(answer: Any) -> Any:
    """An ApiVersions answer of Kafka without what oncelog leaves out."""
    kept = dict(answer)
    for features in ("supported_features", "finalized_features"):
        if features in answer:
            kept[features] = in_order([f for f in answer[features] if f["name"] not in NO_FEATURES])
    return kept


def partition_by_partition(fetched: Any) -> Any:
    """A Fetch answer with one entry a partition, sorted: refused and read partitions stand in no order among each other."""
    rows = [{"topic": t.get("topic", t.get("topic_id")), "partitions": [p]} for t in fetched["responses"] for p in t["partitions"]]
    return {
        **fetched,
        "responses": sorted(rows, key=lambda r: (str(r["topic"]), r["partitions"][0]["partition_index"], r["partitions"][0]["error_code"])),
    }


def stripped(value: Any, path: tuple[str, ...], vary: set[tuple[str, ...]]) -> Any:
    """Without what varies; `name[*]` stands for any element of a list."""
    if isinstance(value, dict):
        if set(value) == {"_hex"}:
            return None if (*path, "_hex") in vary else value["_hex"]
        return {k: stripped(v, (*path, k), vary) for k, v in value.items() if k not in VARIES and (*path, k) not in vary}
    if isinstance(value, list):
        inside = (*path[:-1], f"{path[-1]}[*]") if path else path
        return [stripped(v, inside, vary) for v in value]
    if (*path, "_hex") in vary or value == NO_UUID:
        return None
    return str(value) if hasattr(value, "hex") and not isinstance(value, float | str) else value


def difference(expected: Any, found: Any, path: str) -> str | None:
    """The first place where `found` is not `expected`; fields that were not recorded do not count."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return f"{path}: expected {expected!r}, found {found!r}"
        for name, value in expected.items():
            if name not in found:
                if value in (None, -1, [], "", 0):
                    continue
                return f"{path}.{name} is missing"
            inner = difference(value, found[name], f"{path}.{name}")
            if inner:
                return inner
        return None
    if isinstance(expected, list):
        if not isinstance(found, list) or len(expected) != len(found):
            return f"{path}: expected {expected!r}, found {found!r}"
        return next((d for i, (e, f) in enumerate(zip(expected, found, strict=True)) if (d := difference(e, f, f"{path}[{i}]"))), None)
    return None if expected == found else f"{path}: expected {expected!r}, found {found!r}"


def in_order(value: Any) -> Any:
    """Every list sorted, by names first."""
    if isinstance(value, dict):
        return {k: in_order(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((in_order(v) for v in value), key=_rank)
    return value


def _rank(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    names = [value[k] for k in ("name", "topic", "group_id", "member_id", "resource_name") if isinstance(value.get(k), str)]
    return repr((names, sorted(value.items())))


def answered_topics(response: Any) -> Iterable[tuple[str, int]]:
    """(topic, partitions at least) of the topics that an answer takes for known."""
    if isinstance(response, list):
        for inner in response:
            yield from answered_topics(inner)
    if not isinstance(response, dict):
        return
    name = next((response[k] for k in ("topic", "name", "topic_name", "resource_name") if k in response), None)
    if isinstance(name, str) and response.get("error_code", 0) not in (3, 17, 100):
        inside = [p for f in ("partitions", "partition_responses", "partition_result") for p in response.get(f) or ()]
        numbers = [n for p in inside if (n := _known_partition(p)) is not None]
        if numbers or not inside:
            yield name, max((*numbers, 0)) + 1
    for inner in response.values():
        yield from answered_topics(inner)


def _known_partition(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    if value.get("error_code", value.get("partition_error_code")) == 3:
        return None
    return int(value.get("partition_index", value.get("index", value.get("partition", 0))))


def topic_names(value: Any) -> Iterable[tuple[str, str]]:
    """(topic id, name) wherever an answer shows both."""
    if isinstance(value, list):
        for inner in value:
            yield from topic_names(inner)
    elif isinstance(value, dict):
        name = value.get("name") or value.get("topic") or value.get("topic_name")
        if name and value.get("topic_id") not in (None, NO_UUID):
            yield value["topic_id"], name
        for inner in value.values():
            yield from topic_names(inner)


def whole_batches(records: bytes) -> Iterable[tuple[int, Any]]:
    """(position, header) of the batches in a Fetch answer, which may end in half a batch."""
    with contextlib.suppress(ValueError, struct.error):
        for position, header in iter_headers(records):
            if position + header.size_bytes <= len(records):
                yield position, header


def produced_hexes(entries: list[dict[str, Any]]) -> Iterable[str]:
    """The records of every Produce request."""
    for entry in entries:
        if entry["api"] == "Produce":
            for topic in entry["request"].get("topic_data", ()):
                for partition in topic["partition_data"]:
                    yield (partition["records"] or {}).get("_hex", "")
