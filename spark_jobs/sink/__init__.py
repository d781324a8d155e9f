"""What `exactly_once` is made of: a Kafka client in the standard library, and the transaction over driver and executors."""
