"""Failures on demand: rules that say which requests, or which writes, go wrong, and how.

`rule.py` is what can be asked for, `engine.py` stands between the sockets and the handlers and does it. Nothing here is imported by a
plain `oncelog serve`.
"""
