"""Decisions: transactions and groups as state machines whose only hard state is replayed records.

In each wing the same words: `state` is what is known and what may happen to it, decisions (`decisions`, or the requests by their names)
return records and change nothing, `shard` is what the records of one partition add up to, `service` carries decisions out and answers.
"""
