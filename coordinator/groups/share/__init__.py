"""Share groups (KIP-932): ShareGroupHeartbeat, who is assigned which share partitions, and their start offsets."""
