"""What the commands share: options, output, and a small client."""
