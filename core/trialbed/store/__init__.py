"""Runs and trials in a database: written by the engine, read by everything else."""

from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._column_table import ColumnTable, NumberedColumn
from trialbed.store._columns import RunVersion, ScoreKind, TrialColumns, TrialPlace
from trialbed.store._commits import Commits
from trialbed.store._continuation import hold_run, record_run
from trialbed.store._folder import folder_note
from trialbed.store._packed_column import PackedColumn
from trialbed.store._reader import StoreReader, open_run, open_store, require_frameworks, run_kind
from trialbed.store._reports import MadeReport, ReportPart
from trialbed.store._run_columns import (
    KEPT_FROM,
    column_table,
    make_columns,
    make_report,
    report_part,
    results_as_ended,
    results_at,
    run_ends,
    trial_columns,
)
from trialbed.store._runs import RunChanges, new_run, new_run_id
from trialbed.store._store import Store
from trialbed.store._stored import StoredRun
from trialbed.store._stored_trial import StoredTrial
from trialbed.store._verification import StoreReport, verify_store
from trialbed.store._verified_cases import VerifiedCase, verified_case, verified_cases

__all__ = [
    "KEPT_FROM",
    "AttemptSummary",
    "ColumnTable",
    "Commits",
    "MadeReport",
    "NumberedColumn",
    "PackedColumn",
    "ReportPart",
    "RunChanges",
    "RunVersion",
    "ScoreKind",
    "Store",
    "StoreReader",
    "StoreReport",
    "StoredRun",
    "StoredTrial",
    "TrialColumns",
    "TrialPlace",
    "VerifiedCase",
    "column_table",
    "counted_attempts",
    "folder_note",
    "hold_run",
    "make_columns",
    "make_report",
    "new_run",
    "new_run_id",
    "open_run",
    "open_store",
    "record_run",
    "report_part",
    "require_frameworks",
    "results_as_ended",
    "results_at",
    "run_ends",
    "run_kind",
    "trial_columns",
    "verified_case",
    "verified_cases",
    "verify_store",
]
