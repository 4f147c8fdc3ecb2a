"""Vendor verification: the same requests to every vendor, and one terminal outcome for each."""

from trialbed.verification._cases import BadLine, Case, TestSet
from trialbed.verification._drivers import load_adapter, load_vendor
from trialbed.verification._options import VerifyOptions
from trialbed.verification._outcomes import ANSWERED, Outcome, Problem
from trialbed.verification._planning import config_targets, endpoint_target
from trialbed.verification._requests import RequestSettings
from trialbed.verification._run import Verification, VerifyProgress
from trialbed.verification._schemas import CallVerdict, SchemaChecker
from trialbed.verification._targets import Target

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
    "config_targets",
    "endpoint_target",
    "load_adapter",
    "load_vendor",
]
