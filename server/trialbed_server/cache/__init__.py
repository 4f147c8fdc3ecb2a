"""The cache of API responses: a database, and the recently used part of it in memory."""

from trialbed_server.cache._cache import CachedResponse, ResponseCache
from trialbed_server.cache._entries import ANY, AUTHORITATIVE, NO_ONE, Entry, Origin
from trialbed_server.cache._store import ResponseStore

__all__ = ["ANY", "AUTHORITATIVE", "NO_ONE", "CachedResponse", "Entry", "Origin", "ResponseCache", "ResponseStore"]
