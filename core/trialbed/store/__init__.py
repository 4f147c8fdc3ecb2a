"""Runs and trials in a database: written by the engine, read by everything else."""

from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._commits import Commits
from trialbed.store._continuation import hold_run, record_run
from trialbed.store._folder import folder_note
from trialbed.store._reader import StoreReader, open_run, open_store, require_frameworks, run_kind
from trialbed.store._runs import RunChanges, new_run, new_run_id
from trialbed.store._store import Store
from trialbed.store._stored import StoredRun
from trialbed.store._stored_trial import StoredTrial
from trialbed.store._table import ScoreKind, TrialRow, TrialTable
from trialbed.store._trials import RunVersion, tools_digest
from trialbed.store._verification import StoreReport, verify_store
from trialbed.store._verified_cases import VerifiedCase, verified_case, verified_cases

__all__ = [
    "AttemptSummary",
    "Commits",
    "RunChanges",
    "RunVersion",
    "ScoreKind",
    "Store",
    "StoreReader",
    "StoreReport",
    "StoredRun",
    "StoredTrial",
    "TrialRow",
    "TrialTable",
    "VerifiedCase",
    "counted_attempts",
    "folder_note",
    "hold_run",
    "new_run",
    "new_run_id",
    "open_run",
    "open_store",
    "record_run",
    "require_frameworks",
    "run_kind",
    "tools_digest",
    "verified_case",
    "verified_cases",
    "verify_store",
]
