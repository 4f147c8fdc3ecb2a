"""Runs and trials in a database: written by the engine, read by all others."""

from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._reader import StoredRun, StoredTrial, StoreReader, open_store
from trialbed.store._store import Store

__all__ = ["AttemptSummary", "Store", "StoreReader", "StoredRun", "StoredTrial", "counted_attempts", "open_store"]
