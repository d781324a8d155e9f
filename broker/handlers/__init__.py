"""One module per API key, found by discovery: this directory is the table of what the broker supports."""
