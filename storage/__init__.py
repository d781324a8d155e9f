"""The segmented log, byte-compatible with Apache Kafka's data directory (see FORMAT.md)."""
