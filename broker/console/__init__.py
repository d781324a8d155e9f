"""The exactly-once inspector: why a consumer stands still, who fenced whom, whether a transaction will ever end.

It looks at a broker of its own process (`serve --control`), at any Kafka over the wire, or at a data directory, and tells the same of each;
API.md says what. Nothing here is imported by a plain `oncelog serve`.
"""
