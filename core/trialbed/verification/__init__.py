"""Vendor verification: the same requests to every vendor, and one terminal outcome for each.

The public names are loaded when they are first used: who reads results needs no HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification._cases import BadLine, Case, TestSet
    from trialbed.verification._drivers import load_adapter, load_vendor
    from trialbed.verification._files import check_files
    from trialbed.verification._options import VerifyOptions
    from trialbed.verification._outcomes import ANSWERED, Outcome, Problem
    from trialbed.verification._planning import config_targets, endpoint_target
    from trialbed.verification._requests import RequestSettings
    from trialbed.verification._run import Verification, VerifyProgress, target_files
    from trialbed.verification._schemas import CallVerdict, SchemaChecker
    from trialbed.verification._sheets import verification_records, verification_sheets
    from trialbed.verification._targets import Target

_HOMES = {
    "_cases": ("BadLine", "Case", "TestSet"),
    "_drivers": ("load_adapter", "load_vendor"),
    "_files": ("check_files",),
    "_options": ("VerifyOptions",),
    "_outcomes": ("ANSWERED", "Outcome", "Problem"),
    "_planning": ("config_targets", "endpoint_target"),
    "_requests": ("RequestSettings",),
    "_run": ("Verification", "VerifyProgress", "target_files"),
    "_schemas": ("CallVerdict", "SchemaChecker"),
    "_sheets": ("verification_records", "verification_sheets"),
    "_targets": ("Target",),
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
