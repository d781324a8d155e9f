"""Whose directory this is: cluster, node and directory id, in `meta.properties` as Kafka has them and once more in the metadata store."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage.env import Env
from oncelog.storage.files.checkpoints import META_PROPERTIES, read_meta_properties, write_meta_properties
from oncelog.storage.files.metadata_store import FILE_NAME, MetadataStore

DEFAULT_NODE_ID = 1
SECTION = "identity"

_log = logging.getLogger(__name__)


class Identity(NamedTuple):
    """What a directory says of itself."""

    cluster_id: str
    node_id: int


def settle(env: Env, data_dir: Path, store: MetadataStore, asked_cluster_id: str | None, asked_node_id: int | None) -> Identity:
    """The ids of the directory, those that are asked for or new ones where it has none; on disk when it returns.

    What the store remembers counts more than `meta.properties`, which has no CRC, unless the settings ask for what stands there.
    Raises OSError, and ValueError when the settings ask for other ids than the directory has.
    """
    path = data_dir / META_PROPERTIES
    known = read_meta_properties(env.fs, path)
    kept = store.section(SECTION)
    known_node = known.get("node.id", known.get("broker.id", ""))
    if asked_cluster_id and known.get("cluster.id") == asked_cluster_id:
        kept.pop("cluster.id", None)
    if known_node == str(asked_node_id):
        kept.pop("node.id", None)
    cluster_id, node_id = kept.get("cluster.id") or known.get("cluster.id"), kept.get("node.id") or known_node
    if cluster_id and asked_cluster_id and cluster_id != asked_cluster_id:
        raise ValueError(f"{path} belongs to cluster {cluster_id}, not to {asked_cluster_id}: set that cluster.id, or another directory")
    if node_id and asked_node_id not in (None, int(node_id)):
        raise ValueError(f"{path} belongs to node {node_id}, not to {asked_node_id}: set node.id={node_id}, or another directory")
    identity = {
        "cluster.id": cluster_id or asked_cluster_id or uuid_to_kafka(env.random.uuid()),
        "node.id": str(int(node_id)) if node_id else str(DEFAULT_NODE_ID if asked_node_id is None else asked_node_id),
        "directory.id": kept.get("directory.id") or known.get("directory.id") or uuid_to_kafka(env.random.uuid()),
    }
    wanted = {"version": "1", **identity}
    if known != wanted:
        if kept:
            keys = ",".join(sorted(key for key in known.keys() | wanted.keys() if known.get(key) != wanted.get(key)))
            _log.warning("restored from %s file=%s keys=%s", FILE_NAME, path, keys)
        write_meta_properties(env.fs, path, wanted)
    if store.section(SECTION) != identity:
        store.replace(SECTION, identity)
    return Identity(identity["cluster.id"], int(identity["node.id"]))
