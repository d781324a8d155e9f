"""The move into Apache Kafka in words and commands, with the user's own topics filled in."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

from oncelog.protocol.config_def import options_of
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from oncelog.storage.audit.catalogue import METADATA
from oncelog.storage.config import LogConfig
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.twin_file import examine
from oncelog.storage.moving.graduate import Plan
from oncelog.storage.moving.kafka_topics import KafkaTopic

# ids that Kafka hands to a broker at once; what is left of them is skipped by a restart
PRODUCER_ID_BLOCK = 1000
# options that Kafka does not know, and would refuse
OUR_TOPIC_CONFIGS = frozenset(option.topic_name for option in options_of(LogConfig).values() if option.ours and option.topic_name)
_OURS = ("identity", "producer_ids")  # sections of the metadata store


def steps(plan: Plan, target: Path | None, bootstrap: str = "localhost:9092") -> list[str]:
    """The whole move in order, as a person can follow it: prose lines and, indented, commands to paste."""
    offsets = plan.partitions_of(CONSUMER_OFFSETS) or 50
    transactions = plan.partitions_of(TRANSACTION_STATE) or 50
    where = shlex.quote(str(target)) if target else "LOG_DIR"
    lines = [
        "1. In the server.properties of the new Kafka, before its first start:",
        f"     offsets.topic.num.partitions={offsets}",
        f"     transaction.state.log.num.partitions={transactions}",
        *([f"     share.coordinator.state.topic.num.partitions={shares}"] if (shares := plan.partitions_of(SHARE_GROUP_STATE)) else []),
        "   (one node: offsets.topic.replication.factor=1, transaction.state.log.replication.factor=1, transaction.state.log.min.isr=1)",
        "2. Start it and create the topics:",
        *(f"     {create_command(topic, bootstrap)}" for topic in plan.topics_to_make()),
        "3. Let it create its internal topics (asking for any coordinator does it):",
        f"     kafka-consumer-groups.sh --bootstrap-server {bootstrap} --describe --group graduate",
        f"     kafka-transactions.sh --bootstrap-server {bootstrap} describe --transactional-id graduate",
        "4. Stop Kafka (SIGTERM, and wait for its end). Stop oncelog.",
        "5. Copy:",
        f"     oncelog graduate {shlex.quote(str(plan.source.path))} --to {where}",
        "6. Start Kafka. It checks every CRC and rebuilds every index. Open transactions older than their timeout are aborted.",
        f"7. Before clients are let in: no folder in {where} may end in -stray, and the ends of the logs must be these:",
        f"     kafka-get-offsets.sh --bootstrap-server {bootstrap} --time latest",
        *(
            f"     {topic.name}:{partition}:{plan.log_ends.get(f'{topic.name}-{partition}', 0)}"
            for topic in plan.user_topics()
            for partition in range(topic.partitions)
        ),
    ]
    if _has_settings(plan.source.path):
        lines += ["   ACLs, SCRAM credentials, quotas and settings of brokers do not move: enter them again with Kafka's own tools."]
    if plan.highest_foreign_id >= 0:
        blocks = math.ceil((plan.highest_foreign_id + 1) / PRODUCER_ID_BLOCK)
        lines += [
            f"8. These logs hold producer ids up to {plan.highest_foreign_id}, which the new Kafka would hand out again. Before clients",
            f"   are let in, start an idempotent producer and restart Kafka, {blocks} times: each restart skips to the next",
            f"   {PRODUCER_ID_BLOCK} ids.",
        ]
    return lines


def _has_settings(source: Path) -> bool:
    """Does the metadata store hold anything that a user entered?"""
    newest = examine(OsFileSystem(), source / METADATA).newest
    sections = json.loads(newest.payload) if newest is not None else {}
    return any(values for section, values in sections.items() if section not in _OURS)


def create_command(topic: KafkaTopic, bootstrap: str) -> str:
    """`kafka-topics.sh --create …` with this topic's partitions and configs."""
    words = ["kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", topic.name]
    words += ["--partitions", str(topic.partitions), "--replication-factor", "1"]
    for name, value in sorted(topic.configs.items()):
        if name not in OUR_TOPIC_CONFIGS:
            words += ["--config", f"{name}={value}"]
    return shlex.join(words)
