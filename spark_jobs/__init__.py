"""PySpark pipelines to run as they are or to copy; they work against any Kafka."""
