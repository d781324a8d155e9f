"""Groups of Kafka Streams applications (KIP-1071): the broker hands out tasks and makes the internal topics."""
