"""Examples to run and to copy: each is one command that prints what it counted."""
