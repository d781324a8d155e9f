"""A data directory as a whole: its topics, its folders, its logs."""
