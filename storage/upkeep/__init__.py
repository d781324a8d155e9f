"""What happens to logs over time: checkpoints, retention, compaction."""
