"""All logs of a data directory: start, stop, topics, periodic upkeep (Kafka's `LogManager`).

Start: lock → remember the clean marker and delete it → load. Stop: flush, seal, snapshot → checkpoints → marker. Partition folders without
an entry in the topic registry are left alone with a warning; nothing is ever served empty where a folder holds data.

A partition costs what was done with it: an entry of the registry is all there is of it until somebody asks for its log, and
a folder is made by the first write. So topics of any size come and go in one short turn of the loop.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from oncelog.protocol.config_def import parse_config
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.topics import Topic, Topics
from oncelog.storage.config import LogConfig
from oncelog.storage.directory import opening
from oncelog.storage.directory.adoption import has_topic_files
from oncelog.storage.directory.folders import FolderMaker, NewFolder, PartitionFolders
from oncelog.storage.directory.identity import DEFAULT_NODE_ID, settle
from oncelog.storage.directory.topic import topic_file, with_configs
from oncelog.storage.directory.topic_files import TopicFiles
from oncelog.storage.directory.topics import TopicRegistry
from oncelog.storage.env import Env
from oncelog.storage.files import checkpoints
from oncelog.storage.files.descriptors import DEFAULT_LIMIT, Descriptors
from oncelog.storage.files.metadata_store import FILE_NAME as METADATA
from oncelog.storage.files.metadata_store import MetadataStore, storage_error
from oncelog.storage.files.twin_file import stood
from oncelog.storage.journal.journal import Journal
from oncelog.storage.journal.replay import FoundJournal
from oncelog.storage.log.flush import Flusher, ThreadFlusher
from oncelog.storage.log.log import Log
from oncelog.storage.recovery.opening import Remembered, new_log, open_log
from oncelog.storage.upkeep.chores import Chores

Done = Callable[[KafkaError | None], None]
T = TypeVar("T")

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
        node_id: int | None = None,
        cluster_id: str | None = None,
        max_open_files: int = DEFAULT_LIMIT,
        accept_data_loss: bool = False,
    ) -> None:
        self.env = env
        self.data_dir = data_dir
        self.defaults = defaults
        self.flusher = flusher
        self.node_id = DEFAULT_NODE_ID if node_id is None else node_id
        self.cluster_id = cluster_id or ""
        self.registry = TopicRegistry(env.fs, data_dir, flusher)
        self.topics: Topics = self.registry  # for who only reads
        self.store: MetadataStore
        self.descriptors = Descriptors(env.fs, max_open_files)
        self.on_topic_deleted: list[Callable[[str], None]] = []
        self._asked_cluster_id, self._asked_node_id = cluster_id, node_id
        self._accept_data_loss = accept_data_loss
        self._logs: dict[TopicPartition, Log] = {}
        self._lock: object | None = None
        self.offload = flusher.offload if isinstance(flusher, ThreadFlusher) else None
        self.folders = PartitionFolders(env, data_dir, self.offload)
        self.topic_files = TopicFiles(env.fs, self.folders.of, self.topics.spare, self.offload)
        self.journal = Journal(env, data_dir, flusher, defaults.journal_bytes)
        self._configs: dict[str, LogConfig] = {}
        self.chores = Chores(self)
        self._stopped = False

    # -- life

    def start(self) -> None:
        """Open everything. Raises OSError: BlockingIOError with a sentence when another process uses the directory.

        Raises MetadataLost, and ValueError for a directory of another cluster or node.
        """
        fs = self.env.fs
        fs.mkdir(self.data_dir)
        self._lock = opening.lock(fs, self.data_dir)
        had_metadata = stood(fs, self.data_dir / METADATA)
        expected = self.registry.stood() or (not had_metadata and has_topic_files(self.data_dir, fs))
        self.store = MetadataStore(self.env, self.data_dir, self.flusher, expected=expected, accept_data_loss=self._accept_data_loss)
        self.cluster_id, self.node_id = settle(self.env, self.data_dir, self.store, self._asked_cluster_id, self._asked_node_id)
        self._clean = opening.take_clean_marker(fs, self.data_dir)
        self.registry.load(expected=had_metadata or expected)
        self._load_logs(had_metadata)
        opening.note_boot(self.env, self.data_dir)
        self.topic_files.put(self.topics.all(), self.registry.file_generation)
        self.chores.started()

    def _load_logs(self, had_metadata: bool) -> None:
        fs, data_dir = self.env.fs, self.data_dir
        checkpointed = opening.read_checkpoints(fs, data_dir, clean=self._clean, kept_power=opening.kept_power(self.env, data_dir))
        if opening.tell_checkpoints(fs, data_dir, checkpointed, stood=had_metadata, is_here=self.topics.has_partition):
            self.chores.segment_sealed()  # have them written soon
        self.folders.look()
        journal = opening.look_for_journal(fs, data_dir, checkpointed)
        known, syncs = list[TopicPartition](), opening.Syncs()
        for topic in self.topics.all():
            for partition in range(topic.partitions):
                tp = TopicPartition(topic.name, partition)
                remembered = checkpointed.of(tp)
                known.append(tp)
                if tp in self.folders or max(remembered.high_watermark, remembered.log_start) > 0:
                    self._open(tp, topic, remembered, journal, syncs)
        opening.sync_all(fs, data_dir, syncs, journal)
        self.folders.report_unknown(known)

    def _open(self, tp: TopicPartition, topic: Topic, remembered: Remembered, journal: FoundJournal, syncs: opening.Syncs) -> None:
        """A log that was written to before; what it has to wait for comes to `syncs`."""
        exists = tp in self.folders
        if not exists:
            _log.warning("partition folder is missing partition=%s", tp)
            self.folders.replace_lost(tp, topic.topic_id)
        else:
            self.folders.check_topic_id(tp, topic.topic_id)
        folder, config = self.folders.path(tp), self.config_of(topic.name)
        log = open_log(self.env, folder, tp, topic.topic_id, config, self.descriptors, self.flusher, remembered, syncs, journal)
        if not exists:
            log.durability.unsynced_folders += [folder, self.data_dir]
        log.durability.belong_to(self.journal, self.chores.segment_sealed)
        self._logs[tp] = log
        self.registry.has_leader_epoch(tp, log.leader_epoch)

    def stop(self) -> None:
        """Orderly stop: from here on no log takes anything; the clean marker is the last that is written, if every log could be closed."""
        self._stopped = True
        self.chores.close()
        self.flusher.close()
        self.folders.rename_all()
        clean = opening.close_logs(self.env.fs, self.data_dir, self.logs(), self.journal)
        self.descriptors.close()
        try:
            self.chores.write_checkpoints(everything=True)
            self.topic_files.settle()
            if clean:
                checkpoints.write_clean_marker(self.env.fs, self.data_dir / checkpoints.CLEAN_MARKER)
        except OSError as error:
            _log.error("checkpoints not written error=%s", error)
        self.release_lock()

    def release_lock(self) -> None:
        """Let another process use the directory."""
        lock, self._lock = self._lock, None
        getattr(lock, "close", lambda: None)()

    # -- logs

    def log(self, topic_partition: TopicPartition) -> Log | None:
        """None when there is no such partition."""
        log = self._logs.get(topic_partition)
        return log if log is not None else self._first_use(topic_partition)

    def _first_use(self, tp: TopicPartition) -> Log | None:
        topic = self.topics.get(tp.topic)
        if topic is None or not 0 <= tp.partition < topic.partitions or self._stopped:
            return None
        folder, config = self.folders.path(tp), self.config_of(topic.name)
        log = new_log(self.env, folder, tp, topic.topic_id, config, self.descriptors, self.flusher)
        log.before_first_write = partial(self._make_folder, tp, topic)
        log.durability.belong_to(self.journal, self.chores.segment_sealed)
        self._logs[tp] = log
        return log

    def _make_folder(self, tp: TopicPartition, topic: Topic) -> None:
        """Raises OSError."""
        self.chores.before_first_write(tp)
        self._make_last_folder(self.topics.get(tp.topic) or topic)
        if tp not in self.folders:
            self.folders.make(self._new_folder(tp, topic))

    def _make_last_folder(self, topic: Topic) -> None:
        """Should the registry be lost, the folders tell how many partitions there were. Raises OSError."""
        last = TopicPartition(topic.name, topic.partitions - 1)
        if last not in self.folders:
            self.folders.make(self._new_folder(last, topic))

    def _new_folder(self, tp: TopicPartition, topic: Topic) -> NewFolder:
        return NewFolder(self.folders.path(tp), topic.topic_id, topic_file(topic, self.registry.file_generation))

    def begin_first_writes(self, logs: Iterable[Log], done: Callable[[], None]) -> None:
        """Have the folders of logs that nobody wrote to made by another thread; then `done`. What fails will fail again at the write."""
        new = [
            (log, topic)
            for log in logs
            if log.before_first_write is not None and log.topic_partition not in self.folders and (topic := self._topic_of(log)) is not None
        ]

        def made(error: OSError | None) -> None:
            if error is not None:
                _log.warning("folders of partitions not made error=%s", error)
            else:
                for log, _ in new:
                    self.folders.made(log.topic_partition, wanted=self._topic_of(log) is not None)
            done()

        self.flusher.request(FolderMaker(self.env.fs, [self._new_folder(log.topic_partition, topic) for log, topic in new], made))

    def _topic_of(self, log: Log) -> Topic | None:
        """None when it is being deleted; a new one may have its name."""
        topic = self.topics.get(log.topic_partition.topic)
        return topic if topic is not None and topic.topic_id == log.topic_id else None

    def size_bytes(self, topic_partition: TopicPartition) -> int:
        """Of a partition's segments."""
        log = self._logs.get(topic_partition)
        return 0 if log is None else log.size_bytes()

    def logs(self) -> list[Log]:
        """Of the partitions that were written to or asked for."""
        return list(self._logs.values())

    def config_of(self, name: str) -> LogConfig:
        """Effective settings of a topic; the defaults when there is none of that name. The same object for all its partitions."""
        config = self._configs.get(name)
        if config is None:
            topic = self.topics.get(name)
            if topic is None:
                return self.defaults
            config = self._config(topic.configs)
            if not topic.configs_known:
                config = replace(config, cleanup_policy=("delete",), retention_ms=-1, retention_bytes=-1)
            self._configs[name] = config
        return config

    def _config(self, configs: dict[str, str]) -> LogConfig:
        return parse_config(LogConfig, configs, topic_level=True, base=self.defaults)

    # -- topics

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None, topic_id: uuid.UUID | None = None) -> Topic:
        """Durable when it returns. Raises KafkaError 36, 37, 40 or 56."""
        if self.folders.is_leaving(name):
            self.folders.rename_all()
        topic = self._new_topic(name, partitions, configs or {}, topic_id)
        self._now(self.registry.put, topic)
        return topic

    def begin_create_topic(self, name: str, partitions: int, configs: dict[str, str], done: Done) -> Topic:
        """The topic to be; `done` once it is there. Raises KafkaError 36, 37, 40 or 56, `done` is told of 56."""
        topic = self._new_topic(name, partitions, configs, None)
        self.registry.begin_put(topic, _told(done))
        return topic

    def _new_topic(self, name: str, partitions: int, configs: dict[str, str], topic_id: uuid.UUID | None) -> Topic:
        if self.has_name(name):
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if partitions < 1:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        self._config(configs)
        self._clear_the_way(name, range(partitions))
        return Topic(name, topic_id or self.env.random.uuid(), partitions, dict(configs))

    def has_name(self, name: str) -> bool:
        """A topic has the name, will soon have it, or is still being deleted."""
        return self.registry.wanted(name) is not None or self.topics.get(name) is not None or self.folders.is_leaving(name)

    def begin_create_partitions(self, name: str, total: int, done: Done) -> None:
        """Grow a topic; `done` once the partitions are there. Raises KafkaError 3, 37 or 56, `done` is told of 56."""
        topic = self._grown(name, total)
        self.registry.begin_put(topic, _told(done, lambda: self._has_grown(topic)))

    def _tell_folders(self, name: str) -> None:
        topic = self.topics.get(name)
        self.topic_files.put([topic] if topic is not None else [], self.registry.file_generation)

    def _has_grown(self, topic: Topic) -> None:
        self._tell_folders(topic.name)
        if self.folders.has_any(topic.name):
            try:
                self._make_last_folder(topic)
            except OSError as error:
                _log.warning("last partition's folder not made topic=%s error=%s", topic.name, error)

    def _grown(self, name: str, total: int) -> Topic:
        topic = self._existing(name)
        if total <= topic.partitions:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {topic.partitions} partition(s); {total} would not be an increase.",
            )
        self._clear_the_way(name, range(topic.partitions, total))
        return replace(topic, partitions=total)

    def wanted_configs(self, name: str) -> dict[str, str]:
        """A topic's overrides with those that are on their way to the disk. Raises KafkaError 3."""
        return dict(self._existing(name).configs)

    def alter_topic_configs(self, name: str, configs: dict[str, str]) -> None:
        """Replace the overrides, here and now: for a start. Raises KafkaError 3, 40 or 56."""
        before, config = self._existing(name), self._config(configs)
        self._now(self.registry.put, with_configs(before, configs))
        self._configured(before, config)

    def begin_alter_topic_configs(self, name: str, configs: dict[str, str], done: Done) -> None:
        """Replace the overrides; `done` once they are in force. Raises KafkaError 3 or 40, `done` is told of 56."""
        before, config = self._existing(name), self._config(configs)
        self.registry.begin_put(with_configs(before, configs), _told(done, lambda: self._configured(before, config)))

    def _configured(self, before: Topic, config: LogConfig) -> None:
        name, topic = before.name, self.topics.get(before.name)
        if topic is None or topic.topic_id != before.topic_id:  # deleted since
            return
        if not before.configs_known:
            _log.info("configs confirmed topic=%s", name)
        self._tell_folders(name)
        self._configs[name] = config
        for log in self._logs_of(topic):
            log.update_config(config)

    def update_defaults(self, defaults: LogConfig) -> None:
        """A dynamic broker config changed."""
        self.defaults = defaults
        self._configs.clear()
        for log in self._logs.values():
            log.update_config(self.config_of(log.topic_partition.topic))

    def begin_delete_topic(self, name: str, done: Done) -> None:
        """`done` once nothing bears the name any more. Raises KafkaError 3, `done` is told of 56."""
        topic = self._existing(name)
        gone = partial(self._deleted, topic, lambda: done(None))
        self.registry.begin_remove(name, lambda error: gone() if error is None else done(storage_error(error)))

    def _deleted(self, topic: Topic, done: Callable[[], None]) -> None:
        delay_ms = self._config(topic.configs).file_delete_delay_ms
        self._configs.pop(topic.name, None)
        for log in self._logs_of(topic):
            del self._logs[log.topic_partition]
            self.chores.topic_deleted(log)
            self.journal.forget(log.durability)
            log.close_files()
            log.retire("the topic was deleted")
        for listener in self.on_topic_deleted:
            listener(topic.name)
        self.folders.leave(topic.name, topic.partitions, delay_ms, done)

    def _existing(self, name: str) -> Topic:
        topic = self.registry.wanted(name)
        if topic is None or self.topics.get(name) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        return topic

    def _logs_of(self, topic: Topic) -> list[Log]:
        found = (self._logs.get(TopicPartition(topic.name, partition)) for partition in range(topic.partitions))
        return [log for log in found if log is not None]

    def _now(self, change: Callable[[T], None], what: T) -> None:
        try:
            change(what)
        except OSError as error:
            raise storage_error(error) from error

    def _clear_the_way(self, name: str, partitions: Iterable[int]) -> None:
        try:
            self.folders.clear_the_way(name, partitions)
        except OSError as error:
            raise storage_error(error) from error

    # -- upkeep

    def maintenance(self, now_ms: int) -> None:
        """One small piece of periodic work: checkpoints, expiry, retention, deletion, cleaning."""
        self.chores.run(now_ms)

    @property
    def cleaning(self) -> bool:
        """A log is being compacted: call `maintenance` again soon."""
        return self.chores.cleaner.busy


def _told(done: Done, shown: Callable[[], None] = lambda: None) -> Callable[[OSError | None], None]:
    def put(error: OSError | None) -> None:
        if error is None:
            shown()
        done(storage_error(error) if error is not None else None)

    return put
