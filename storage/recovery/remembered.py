"""What the checkpoints of a data directory say about its logs, and how much of it is certain."""

from __future__ import annotations

from typing import NamedTuple

from oncelog.protocol.names import TopicPartition
from oncelog.storage.files.checkpoints import OffsetCheckpoint
from oncelog.storage.recovery.opening import Remembered


class Checkpointed(NamedTuple):
    """The checkpoints as they were found; None: absent or damaged. `clean`: after an orderly stop; `kept_power`: after a kill at worst."""

    clean: bool
    points: OffsetCheckpoint | None
    starts: OffsetCheckpoint | None
    watermarks: OffsetCheckpoint | None
    kept_power: bool = False

    def of(self, topic_partition: TopicPartition) -> Remembered:
        """About one log.

        Its end is certain by a checkpoint with a CRC, or by two without one that agree; its start by one with a CRC: the start is on disk
        before a segment is deleted.
        """
        point, start = _get(self.points, topic_partition), _get(self.starts, topic_partition)
        # not in the checkpoint: the partition is younger than that
        watermark = -1 if self.watermarks is None else max(_get(self.watermarks, topic_partition), 0)
        certain = [_get(one, topic_partition) for one in (self.points, self.watermarks) if one is not None and one.vouched]
        end = max(certain) if certain else min(point, watermark)
        known = self.starts is not None and self.starts.vouched and end > 0
        ours = all(one is None or one.vouched for one in (self.points, self.starts, self.watermarks))
        return Remembered(self.clean, max(point, 0), max(start, 0), watermark, max(start, 0) if known else -1, end, self.kept_power, ours)


def _get(checkpoint: OffsetCheckpoint | None, topic_partition: TopicPartition) -> int:
    return -1 if checkpoint is None else checkpoint.offsets.get(topic_partition, -1)
