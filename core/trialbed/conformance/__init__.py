"""The conformance kit: does an adapter do what the rig asks for?

It plays trials of the adapter against a scripted model and scripted Apis, and looks at both ends of the wire.
``check_adapter`` runs every check in this process; ``trialbed.testing.AdapterConformance`` makes a pytest test
of each; ``python -m trialbed.conformance --framework NAME`` needs neither pytest nor code.
"""

from trialbed.conformance._check import LEVELS, Check, CheckFailed, Level
from trialbed.conformance._environment import like_a_worker
from trialbed.conformance._kit import Kit, check_adapter
from trialbed.conformance._naming import named_agent
from trialbed.conformance._network import NetworkWatch
from trialbed.conformance._recording import ModelRequest, Play, ToolCall
from trialbed.conformance._report import Finding, Report
from trialbed.conformance._script import Call, Raw, Said, asks, call, fails, forever, says
from trialbed.conformance._stage import Conditions, Stage
from trialbed.conformance._tools import (
    ApiReply,
    Cue,
    Held,
    Meeting,
    StageTool,
    breaks,
    echo,
    errs,
    returns,
    tool,
)
from trialbed.conformance._trial import StageTrial
from trialbed.conformance.checks import CHECKS

__all__ = [
    "CHECKS",
    "LEVELS",
    "ApiReply",
    "Call",
    "Check",
    "CheckFailed",
    "Conditions",
    "Cue",
    "Finding",
    "Held",
    "Kit",
    "Level",
    "Meeting",
    "ModelRequest",
    "NetworkWatch",
    "Play",
    "Raw",
    "Report",
    "Said",
    "Stage",
    "StageTool",
    "StageTrial",
    "ToolCall",
    "asks",
    "breaks",
    "call",
    "check_adapter",
    "echo",
    "errs",
    "fails",
    "forever",
    "like_a_worker",
    "named_agent",
    "returns",
    "says",
    "tool",
]
