"""Log compaction: which log next, and what stays of it. The swap that puts it in place is `log/swap.py`."""
