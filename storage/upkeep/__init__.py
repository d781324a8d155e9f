"""What happens to logs over time: flushing, retention, compaction."""
