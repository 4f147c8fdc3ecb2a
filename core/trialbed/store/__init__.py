"""Runs and trials in a database: written by the engine, read by everything else."""

from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._columns import RunColumns, RunVersion, ScoreKind, TrialColumns, TrialPlace
from trialbed.store._reader import StoredRun, StoreReader, open_store
from trialbed.store._store import Store
from trialbed.store._stored_trial import StoredTrial
from trialbed.store._verification import StoreReport, verify_store

__all__ = [
    "AttemptSummary",
    "RunColumns",
    "RunVersion",
    "ScoreKind",
    "Store",
    "StoreReader",
    "StoreReport",
    "StoredRun",
    "StoredTrial",
    "TrialColumns",
    "TrialPlace",
    "counted_attempts",
    "open_store",
    "verify_store",
]
