"""The dialects of model APIs. Each is a module with a reader and a writer.

A new dialect is a module here with the names of ``Dialect``, and a line in ``PATHS``.
"""

from trialbed.wire.dialects._dialect import CHAT, COUNTS, PATHS, Dialect, EventStream, dialect, dialect_at

__all__ = ["CHAT", "COUNTS", "PATHS", "Dialect", "EventStream", "dialect", "dialect_at"]
