"""What readers of small files say of one that is not as its format wants it."""


class DamagedFile(ValueError):
    """The file does not follow its format; the message says where."""
