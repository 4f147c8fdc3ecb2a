"""Frozen records: the data that passes between the parts of Trialbed, and its vocabulary."""

from trialbed.records._answers import Answer, ClaimedCall, Finish
from trialbed.records._apis import Api, ApiRef, Parameter, json_type, usable_default
from trialbed.records._base import Json, Record
from trialbed.records._frameworks import (
    PIN,
    PROFILE,
    Deviation,
    Environment,
    FrameworkInfo,
    framework_driver,
    framework_name,
    framework_package,
    framework_profile,
    framework_release,
    with_profile,
)
from trialbed.records._models import Limits, ModelEndpoint, Usage
from trialbed.records._queries import GoldCall, Query, ScriptedCall, ToolSpec
from trialbed.records._runs import Run, RunConfig, RunStatus
from trialbed.records._scores import NOT_MEASURED, Failure, FailureKind, Score
from trialbed.records._trials import (
    Outcome,
    Timing,
    TrialKey,
    TrialRegistration,
    TrialResult,
    TrialSpec,
    TrialStatus,
)
from trialbed.records._wire import ApiCall, Attempt, Cause, CircuitState, EndpointStatus, ModelCall, SentCall, WireLog

__all__ = [
    "NOT_MEASURED",
    "PIN",
    "PROFILE",
    "Answer",
    "Api",
    "ApiCall",
    "ApiRef",
    "Attempt",
    "Cause",
    "CircuitState",
    "ClaimedCall",
    "Deviation",
    "EndpointStatus",
    "Environment",
    "Failure",
    "FailureKind",
    "Finish",
    "FrameworkInfo",
    "GoldCall",
    "Json",
    "Limits",
    "ModelCall",
    "ModelEndpoint",
    "Outcome",
    "Parameter",
    "Query",
    "Record",
    "Run",
    "RunConfig",
    "RunStatus",
    "Score",
    "ScriptedCall",
    "SentCall",
    "Timing",
    "ToolSpec",
    "TrialKey",
    "TrialRegistration",
    "TrialResult",
    "TrialSpec",
    "TrialStatus",
    "Usage",
    "WireLog",
    "framework_driver",
    "framework_name",
    "framework_package",
    "framework_profile",
    "framework_release",
    "json_type",
    "usable_default",
    "with_profile",
]
