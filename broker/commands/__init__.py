"""The commands beside `serve`: topics, groups, records, settings, users, ACLs and a doctor, over the wire to any Kafka broker."""
