"""What can be configured, at the start and while running, and what is told of it."""
