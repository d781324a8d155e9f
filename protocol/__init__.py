"""Bytes to objects and back: frames, headers, messages, record batches. Pure: opens no file and no socket."""
