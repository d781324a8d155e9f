"""Into a real Apache Kafka, and out of one."""
