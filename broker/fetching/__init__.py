"""What a Fetch needs beyond the log: sessions, and waiting for data."""
