"""One partition: segments, what may be appended, what is read, what is durable, and how it opens after a crash."""
