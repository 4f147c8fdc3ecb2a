"""Trials of one adapter in this process: against a scripted model and scripted Apis, with records of both sides."""

from trialbed.chat import Call
from trialbed_adapter_kit.harness._environment import like_a_worker, named_agent
from trialbed_adapter_kit.harness._harness import (
    KEY,
    QUERY,
    SYSTEM_PROMPT,
    CheckFailed,
    Conditions,
    Harness,
    PreparedTrial,
    tool_client,
)
from trialbed_adapter_kit.harness._network import NetworkWatch
from trialbed_adapter_kit.harness._process import ProcessResources, new_tasks, process_state, settled
from trialbed_adapter_kit.harness._records import ModelRequest, ToolCall, TrialRecord, text_of
from trialbed_adapter_kit.harness._script import (
    ApiReply,
    Behaviour,
    Forever,
    Raw,
    Reply,
    ScriptedTool,
    asks,
    breaks,
    call,
    echo,
    errs,
    fails,
    forever,
    returns,
    says,
    tool,
)
from trialbed_adapter_kit.harness._synchronization import Barrier, DelayedReply, Event, Gate
from trialbed_adapter_kit.harness._watchdog import BLOCKED, LoopBlocked, watchdog

__all__ = [
    "BLOCKED",
    "KEY",
    "QUERY",
    "SYSTEM_PROMPT",
    "ApiReply",
    "Barrier",
    "Behaviour",
    "Call",
    "CheckFailed",
    "Conditions",
    "DelayedReply",
    "Event",
    "Forever",
    "Gate",
    "Harness",
    "LoopBlocked",
    "ModelRequest",
    "NetworkWatch",
    "PreparedTrial",
    "ProcessResources",
    "Raw",
    "Reply",
    "ScriptedTool",
    "ToolCall",
    "TrialRecord",
    "asks",
    "breaks",
    "call",
    "echo",
    "errs",
    "fails",
    "forever",
    "like_a_worker",
    "named_agent",
    "new_tasks",
    "process_state",
    "returns",
    "says",
    "settled",
    "text_of",
    "tool",
    "tool_client",
    "watchdog",
]
