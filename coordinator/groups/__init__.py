"""Groups and their offsets, of either protocol."""
