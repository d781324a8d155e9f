"""Log compaction: which log next, what stays of it, and the swap."""
