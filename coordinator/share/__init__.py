"""The share coordinator (KIP-932, Kafka's `ShareCoordinator`): how far every share partition is, a group's view of one partition.

`__share_group_state` holds it: a snapshot, and updates that add to it, until there are so many that the next write is a snapshot again
(`state` has the table of what a request meets, `batches` how ranges of records are laid over each other, `decisions` what is written,
`shard` what the records add up to). What a later snapshot says anew is cut off the log (`upkeep`). `persister` is what request handlers and
the parts of the broker that serve share groups call; its answers come when what they say is on disk.
"""
