"""The rows of the table, a module for each section of its page."""
