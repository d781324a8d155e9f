"""Opening a log: what a stop or a crash left is believed, mended, or taken out and kept."""
