"""Vendor verification: the same requests to every vendor, and one terminal outcome for each.

Here is the work itself: a run brings every case to every target (``_run``, ``_turns``; ``_work`` and ``_sender`` for
one target, ``_sessions`` for its connections), leaves alone what only fails (``_retries``), and sees that the times
it measures are not its own (``_pacer``, ``_lag``). It stands on four parts, of which each imports only those above it:

    wire      one request and its answer
    cases     what is asked: the test set and the tools that it declares
    targets   of whom it is asked and how: models, vendors, addresses, keys, settings
    results   what is kept: rows, the files that hold them, and summaries

Whoever is outside a part uses its public names. They are loaded when they are first used: who reads results needs no
HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification._run import Verification, VerifyProgress, target_files
    from trialbed.verification.cases import BadLine, CallVerdict, Case, SchemaChecker, TestSet
    from trialbed.verification.results import check_files, verification_records, verification_sheets
    from trialbed.verification.targets import (
        RequestSettings,
        Target,
        VerifyOptions,
        config_targets,
        endpoint_target,
        load_adapter,
        load_vendor,
    )
    from trialbed.verification.wire import ANSWERED, Outcome, Problem

_HOMES = {
    "_run": ("Verification", "VerifyProgress", "target_files"),
    "cases": ("BadLine", "CallVerdict", "Case", "SchemaChecker", "TestSet"),
    "results": ("check_files", "verification_records", "verification_sheets"),
    "targets": (
        "RequestSettings",
        "Target",
        "VerifyOptions",
        "config_targets",
        "endpoint_target",
        "load_adapter",
        "load_vendor",
    ),
    "wire": ("ANSWERED", "Outcome", "Problem"),
}

__all__ = [
    "ANSWERED",
    "BadLine",
    "CallVerdict",
    "Case",
    "Outcome",
    "Problem",
    "RequestSettings",
    "SchemaChecker",
    "Target",
    "TestSet",
    "Verification",
    "VerifyOptions",
    "VerifyProgress",
    "check_files",
    "config_targets",
    "endpoint_target",
    "load_adapter",
    "load_vendor",
    "target_files",
    "verification_records",
    "verification_sheets",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
