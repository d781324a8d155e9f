"""Transactions: who may do what with a transactional id, and how a decided transaction reaches its partitions."""
