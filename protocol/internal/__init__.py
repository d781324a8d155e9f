"""What stands in the internal topics: records of `__transaction_state` and `__consumer_offsets`, bytes to objects and back."""
