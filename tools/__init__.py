"""What developers run, and no user needs. Not in the wheel; imported from the project's folder: `python -m tools.docs`."""
