"""What is told of topics, and which may be made."""
