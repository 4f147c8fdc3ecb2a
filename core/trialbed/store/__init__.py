"""Runs and trials in a database: written by the engine, read by everything else."""

from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._reader import StoredRun, StoredTrial, StoreReader, open_store
from trialbed.store._store import Store
from trialbed.store._verification import StoreReport, verify_store

__all__ = [
    "AttemptSummary",
    "Store",
    "StoreReader",
    "StoreReport",
    "StoredRun",
    "StoredTrial",
    "counted_attempts",
    "open_store",
    "verify_store",
]
