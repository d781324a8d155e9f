"""What can be set. A *config* is Kafka's: a key=value of a broker, topic, group or listener, declared by an option of a `...Config` class.

    sources, environment, start     where the values at the start come from, and which wins
    server, broker, load            the server's own configs; those of all layers together; from values to them
    listeners, checks               what `listeners` and its neighbours mean; what cannot be together
    catalogue, without_effect       which configs there are, by resource; those that are accepted and do nothing
    dynamic, changes, entries       read and altered while the broker runs: the place, one change, one line of the answer
    group_overrides, client_metrics, client_quotas, loggers, features    what belongs to other resources than brokers and topics

The classes themselves stand where they act: `storage/config`, `coordinator/txn/config`, `coordinator/groups/config`, `auth/config`.
"""
