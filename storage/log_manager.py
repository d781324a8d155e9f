"""All logs of a data directory: start, stop, topics, periodic upkeep (Kafka's `LogManager`).

Start: lock → remember the clean marker and delete it → load. Stop: flush, seal, snapshot → checkpoints → marker. Partition folders without
an entry in the topic registry are left alone with a warning; nothing is ever served empty where a folder holds data.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from oncelog.protocol.config_def import parse_settings
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage import checkpoints
from oncelog.storage.config import LogConfig
from oncelog.storage.descriptors import DEFAULT_LIMIT, Descriptors
from oncelog.storage.env import Env
from oncelog.storage.flush import Flusher
from oncelog.storage.log import Log
from oncelog.storage.recovery import Remembered, open_log
from oncelog.storage.topics import PARTITION_FOLDER, Topic, TopicRegistry, with_configs
from oncelog.storage.upkeep import Upkeep

_SET_ASIDE = re.compile(r".+-\d+\.[0-9a-f]{32}-(delete|stray|future)")
_MAX_FOLDER_NAME = 255

_log = logging.getLogger(__name__)


class LogManager:
    """`defaults` are the broker's log settings; topics lay theirs over them."""

    def __init__(
        self,
        env: Env,
        data_dir: Path,
        defaults: LogConfig,
        flusher: Flusher,
        *,
        node_id: int = 1,
        cluster_id: str | None = None,
        max_open_files: int = DEFAULT_LIMIT,
    ) -> None:
        self.env = env
        self.data_dir = data_dir
        self.defaults = defaults
        self.flusher = flusher
        self.node_id = node_id
        self.cluster_id = cluster_id or ""
        self.topics = TopicRegistry(env.fs, data_dir)
        self.descriptors = Descriptors(env.fs, max_open_files)
        self.on_topic_deleted: list[Callable[[str], None]] = []
        self._asked_cluster_id = cluster_id
        self._logs: dict[TopicPartition, Log] = {}
        self._lock: object | None = None
        self._upkeep = Upkeep(self)
        self._clean = False

    # -- life

    def start(self) -> None:
        """Open everything. Raises OSError: BlockingIOError with a sentence when another process uses the directory."""
        fs = self.env.fs
        fs.mkdir(self.data_dir)
        try:
            self._lock = fs.lock(self.data_dir / ".lock")
        except BlockingIOError as error:
            raise BlockingIOError(
                error.errno, f"{self.data_dir} is in use by another process (it holds {self.data_dir / '.lock'})"
            ) from error
        marker = self.data_dir / checkpoints.CLEAN_MARKER
        self._clean = fs.exists(marker)
        if self._clean:
            fs.unlink(marker)
            fs.sync_dir(self.data_dir)
        self._identify()
        self.topics.load()
        self._load_logs()
        self._upkeep.started()

    def _identify(self) -> None:
        path = self.data_dir / checkpoints.META_PROPERTIES
        known = checkpoints.read_meta_properties(self.env.fs, path)
        stored = known.get("cluster.id")
        if stored and self._asked_cluster_id and stored != self._asked_cluster_id:
            raise ValueError(f"{path} belongs to cluster {stored}, not to {self._asked_cluster_id}")
        self.cluster_id = stored or self._asked_cluster_id or uuid_to_kafka(self.env.random.uuid())
        node_id = known.get("node.id", known.get("broker.id", ""))
        if node_id.isdecimal():
            self.node_id = int(node_id)
        directory_id = known.get("directory.id") or uuid_to_kafka(self.env.random.uuid())
        wanted = {"version": "1", "cluster.id": self.cluster_id, "node.id": str(self.node_id), "directory.id": directory_id}
        if known != wanted:
            checkpoints.write_meta_properties(self.env.fs, path, wanted)

    def _load_logs(self) -> None:
        fs = self.env.fs
        points, starts, watermarks = (
            checkpoints.read_offsets(fs, self.data_dir / name)
            for name in (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
        )
        present = set(fs.list(self.data_dir))
        for topic in self.topics.all():
            config = self._config(topic.configs)
            for partition in range(topic.partitions):
                tp = TopicPartition(topic.name, partition)
                # not in the checkpoint: the partition is younger than that
                watermark = -1 if watermarks is None else watermarks.get(tp, 0)
                remembered = Remembered(self._clean, (points or {}).get(tp, 0), (starts or {}).get(tp, 0), watermark)
                self._open(tp, topic, config, remembered, exists=str(tp) in present)
                present.discard(str(tp))
        self._look_at_rest(present)

    def _open(self, tp: TopicPartition, topic: Topic, config: LogConfig, remembered: Remembered, *, exists: bool) -> Log:
        folder = self.data_dir / str(tp)
        fs = self.env.fs
        if not exists:
            if remembered.high_watermark > 0:
                _log.error("partition folder is missing partition=%s offsets=0..%d", tp, remembered.high_watermark - 1)
            fs.mkdir(folder)
        self._mark_folder(folder, topic.topic_id, exists=exists)
        log = open_log(self.env, folder, tp, topic.topic_id, config, self.descriptors, self.flusher, remembered)
        if not exists:
            log.unsynced_folders += [folder, self.data_dir]
        log.on_sealed = self._upkeep.segment_sealed
        self._logs[tp] = log
        return log

    def _mark_folder(self, folder: Path, topic_id: uuid.UUID, *, exists: bool) -> None:
        """partition.metadata; not synced: it can be told from the registry, the first flush of the log carries its name."""
        path = folder / checkpoints.PARTITION_METADATA
        found = checkpoints.read_topic_id(self.env.fs, path) if exists else None
        if found == topic_id:
            return
        if found is not None:
            _log.warning("partition.metadata names another topic id, kept by name folder=%s found=%s", folder, uuid_to_kafka(found))
        data = checkpoints.topic_id_text(topic_id)
        if exists:
            self.env.fs.write_atomic(path, data)
            return
        file = self.env.fs.open(path, create=True)
        try:
            file.pwrite([data], 0)
        finally:
            file.close()

    def _look_at_rest(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            if not self.env.fs.is_dir(self.data_dir / name) or name == "__cluster_metadata-0":
                continue
            match = _SET_ASIDE.fullmatch(name)
            if match and match[1] == "delete":
                self._upkeep.doom(self.data_dir / name, self.env.clock.time_ms())
            elif match:
                _log.warning("folder set aside, not touched name=%s", name)
            elif PARTITION_FOLDER.fullmatch(name):
                _log.warning("partition folder of an unknown topic, kept and not served name=%s", name)
            else:
                _log.warning("foreign folder skipped name=%s", name)

    def stop(self) -> None:
        """Orderly stop; the clean marker is written only when every log could be closed."""
        self._upkeep.cleaner.close()
        self.flusher.close()
        clean = True
        for log in self._logs.values():
            try:
                log.close()
            except KafkaError as error:
                _log.error("log not closed cleanly partition=%s error=%s", log.topic_partition, error)
                clean = False
        self.descriptors.close()
        try:
            self._upkeep.write_checkpoints(everything=True)
            if clean:
                checkpoints.write_clean_marker(self.env.fs, self.data_dir / checkpoints.CLEAN_MARKER)
        except OSError as error:
            _log.error("checkpoints not written error=%s", error)
        self.release_lock()

    def release_lock(self) -> None:
        """Let another process use the directory."""
        lock, self._lock = self._lock, None
        close = getattr(lock, "close", None)
        if close is not None:
            close()

    # -- logs

    def log(self, topic_partition: TopicPartition) -> Log | None:
        return self._logs.get(topic_partition)

    def logs(self) -> list[Log]:
        return list(self._logs.values())

    def config_of(self, name: str) -> LogConfig:
        """Effective settings of a topic; the defaults when there is none of that name."""
        topic = self.topics.get(name)
        return self._config(topic.configs) if topic else self.defaults

    def _config(self, configs: dict[str, str]) -> LogConfig:
        return parse_settings(LogConfig, configs, topic_level=True, base=self.defaults)

    # -- topics

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None, topic_id: uuid.UUID | None = None) -> Topic:
        """Registered durably, then its folders are made. Raises KafkaError 36, 37, 40 or 56."""
        if self.topics.get(name) is not None:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if partitions < 1:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        config = self._config(configs or {})
        topic = Topic(name, topic_id or self.env.random.uuid(), partitions, dict(configs or {}))
        self._set_aside_leftovers(name, range(partitions))
        self._register(topic)
        self._open_partitions(topic, config, range(partitions))
        return topic

    def create_partitions(self, name: str, total: int) -> Topic:
        """Grow a topic. Raises KafkaError 3, 37 or 56."""
        topic = self._existing(name)
        if total <= topic.partitions:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {topic.partitions} partition(s); {total} would not be an increase.",
            )
        grown = Topic(name, topic.topic_id, total, topic.configs)
        self._set_aside_leftovers(name, range(topic.partitions, total))
        self._register(grown)
        self._open_partitions(grown, self._config(grown.configs), range(topic.partitions, total))
        return grown

    def alter_topic_configs(self, name: str, configs: dict[str, str]) -> None:
        """Replace the overrides. Raises KafkaError 3, 40 or 56."""
        config = self._config(configs)
        self._register(with_configs(self._existing(name), configs))
        for log in self._logs_of(name):
            log.update_config(config)

    def update_defaults(self, defaults: LogConfig) -> None:
        """A dynamic broker config changed."""
        self.defaults = defaults
        for log in self._logs.values():
            topic = self.topics.get(log.topic_partition.topic)
            log.update_config(self._config(topic.configs if topic else {}))

    def delete_topic(self, name: str) -> None:
        """Out of the registry first; the folders are renamed now and removed later. Raises KafkaError 3 or 56."""
        self._existing(name)
        delay_ms = self.config_of(name).file_delete_delay_ms
        try:
            self.topics.remove(name)
        except OSError as error:
            raise _storage_error(error) from error
        for log in self._logs_of(name):
            del self._logs[log.topic_partition]
            self._upkeep.topic_deleted(log)
            log.close_files()
            log.retire("the topic was deleted")
            self._set_aside(log.folder, delay_ms)
        for listener in self.on_topic_deleted:
            listener(name)

    def _existing(self, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        return topic

    def _logs_of(self, name: str) -> list[Log]:
        return [log for tp, log in self._logs.items() if tp.topic == name]

    def _register(self, topic: Topic) -> None:
        try:
            self.topics.put(topic)
        except OSError as error:
            raise _storage_error(error) from error

    def _open_partitions(self, topic: Topic, config: LogConfig, partitions: Iterable[int]) -> None:
        try:
            for partition in partitions:
                self._open(TopicPartition(topic.name, partition), topic, config, Remembered(clean=True), exists=False)
        except OSError as error:
            raise _storage_error(error) from error

    def _set_aside_leftovers(self, name: str, partitions: Iterable[int]) -> None:
        """Folders that a deletion could not rename, or of an unknown topic: a new topic must not serve what they hold."""
        for partition in partitions:
            folder = self.data_dir / f"{name}-{partition}"
            if self.env.fs.exists(folder):
                target = self._aside_path(folder, "stray")
                _log.warning("folder in the way of a new topic set aside name=%s to=%s", folder.name, target.name)
                self.env.fs.rename(folder, target)

    def _set_aside(self, folder: Path, delay_ms: int) -> None:
        target = self._aside_path(folder, "delete")
        try:
            self.env.fs.rename(folder, target)
        except OSError as error:
            _log.error("folder of a deleted topic not renamed name=%s error=%s", folder.name, error)
            return
        self._upkeep.doom(target, self.env.clock.time_ms() + delay_ms)

    def _aside_path(self, folder: Path, why: str) -> Path:
        suffix = f".{self.env.random.uuid().hex}-{why}"
        topic, _, partition = folder.name.rpartition("-")
        return self.data_dir / f"{topic[: _MAX_FOLDER_NAME - len(suffix) - len(partition) - 1]}-{partition}{suffix}"

    # -- upkeep

    def maintenance(self, now_ms: int) -> None:
        """One small piece of periodic work: checkpoints, expiry, retention, purging, cleaning."""
        self._upkeep.run(now_ms)

    @property
    def cleaning(self) -> bool:
        """A log is being compacted: call `maintenance` again soon."""
        return self._upkeep.cleaner.busy


def _storage_error(error: OSError) -> KafkaError:
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The data directory can not be written: {error}")
