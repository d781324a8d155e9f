"""Groups of every type, and their offsets.

`classic`, `consumer`, `share` and `offsets` are rooms, each with its state, its requests and its service. `shard` is what the records of
one partition of `__consumer_offsets` add up to, and knows of which type a group is; `group_type` says what requests for another type are
told. `service` is what handlers call. `listing` tells administrators, `removal` takes away, by request or by itself.
"""
