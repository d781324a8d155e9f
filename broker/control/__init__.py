"""The control port: a running broker's failures, time, crashes and figures over HTTP, for tests in any language.

`testkit/controlled.py` is what can be done, to the broker of a process (`served.py`) or of a test (`testkit/life.py`); `routes.py` says
it in JSON, `app.py` and `server.py` in HTTP. Nothing here is imported by a plain `oncelog serve`.
"""
