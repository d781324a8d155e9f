"""The files beside the records, one format a module: indexes, snapshots, checkpoints, epochs, and what the broker must remember."""
