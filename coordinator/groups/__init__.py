"""Groups and their offsets, of either protocol.

`classic`, `consumer` and `offsets` are three rooms, each with its state, its requests and its service. `shard` is what the records of one
partition of `__consumer_offsets` add up to. `service` is what handlers call: here is decided of which protocol a group is. `listing` tells
administrators, `removal` takes away, by request or by itself.
"""
