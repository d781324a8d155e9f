"""The process around a broker: open files, memory, log lines, when it wakes."""
