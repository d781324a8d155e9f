"""The process around a broker: files, memory, log lines, counters."""
