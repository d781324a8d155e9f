"""Reading a data directory from outside, ours or Kafka's, changing nothing: `oncelog verify`, `oncelog log dump`."""
