"""What the tests share: broker processes, raw connections, golden conversations."""
