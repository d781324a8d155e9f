"""Log lines on standard error: time, level, logger, text with key=value; one JSON object a line with ONCELOG_LOG_FORMAT=json.

Modules log with the standard library, one logger each. structlog renders; it is imported by the first line, not by the start.
"""

from __future__ import annotations

import logging
import sys

FORMATS = ("text", "json")


def warm_up() -> None:
    """Import what the first line needs; meant for a worker thread, once clients are served."""
    import structlog  # noqa: F401


class LazyFormatter(logging.Formatter):
    """structlog's formatter, made when there is something to format."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = form
        self._formatter: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._formatter is None:
            self._formatter = _formatter(self._form)
        return self._formatter.format(record)


def configure(level: str, form: str = "text") -> None:
    """Send the loggers of oncelog to standard error. Raises ValueError for a level or form that does not exist."""
    if form not in FORMATS:
        raise ValueError(f"ONCELOG_LOG_FORMAT is one of {', '.join(FORMATS)}, not {form!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LazyFormatter(form))
    root = logging.getLogger("oncelog")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(level.upper())


def _formatter(form: str) -> logging.Formatter:
    import structlog

    before: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
        before.append(structlog.processors.format_exc_info)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
        )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    )
