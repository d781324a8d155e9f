"""What stands in `__transaction_state`, `__consumer_offsets` and `__share_group_state`: records, bytes to objects and back."""
