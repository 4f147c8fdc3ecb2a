"""Vendor verification: the same requests to every vendor, and one terminal outcome for each.

The public names are loaded when they are first used: who reads results needs no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "ANSWERED": "_outcomes",
    "BadLine": "_cases",
    "CallVerdict": "_schemas",
    "Case": "_cases",
    "Outcome": "_outcomes",
    "Problem": "_outcomes",
    "RequestSettings": "_requests",
    "SchemaChecker": "_schemas",
    "Target": "_targets",
    "TestSet": "_cases",
    "Verification": "_run",
    "VerifyOptions": "_options",
    "VerifyProgress": "_run",
    "check_files": "_files",
    "config_targets": "_planning",
    "endpoint_target": "_planning",
    "load_adapter": "_drivers",
    "load_vendor": "_drivers",
    "target_files": "_run",
    "verification_records": "_sheets",
    "verification_sheets": "_sheets",
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


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trialbed.verification' has no attribute {name!r}")
    return getattr(import_module(f"trialbed.verification.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
