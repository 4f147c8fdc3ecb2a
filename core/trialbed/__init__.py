"""Trialbed: the rig on which agent frameworks and model vendors prove how well they use tools.

The public names are loaded when they are first used, so that ``import trialbed`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.contracts import (
        BaseAgent,
        Dataset,
        DatasetDriver,
        Executor,
        Judge,
        ModelAdapter,
        Reporter,
        Simulation,
        Simulator,
        ToolSelector,
        Vendor,
        Verdict,
    )
    from trialbed.engine import arun_benchmark, run_benchmark
    from trialbed.errors import DataError, JudgeError, ModelFailed, SimulationError, TrialbedError, UsageError
    from trialbed.hookspecs import hookimpl
    from trialbed.prompts import SYSTEM_PROMPT, finish_of
    from trialbed.records import (
        Answer,
        Api,
        ApiRef,
        ClaimedCall,
        Deviation,
        GoldCall,
        Limits,
        ModelEndpoint,
        Parameter,
        Query,
        Score,
        ToolSpec,
        TrialResult,
        Usage,
        WireLog,
    )
    from trialbed.scoring import ScoreContext
    from trialbed.tools import Tool

_HOMES = {
    "contracts": (
        "BaseAgent",
        "Dataset",
        "DatasetDriver",
        "Executor",
        "Judge",
        "ModelAdapter",
        "Reporter",
        "Simulation",
        "Simulator",
        "ToolSelector",
        "Vendor",
        "Verdict",
    ),
    "engine": ("arun_benchmark", "run_benchmark"),
    "errors": ("DataError", "JudgeError", "ModelFailed", "SimulationError", "TrialbedError", "UsageError"),
    "hookspecs": ("hookimpl",),
    "prompts": ("SYSTEM_PROMPT", "finish_of"),
    "records": (
        "Answer",
        "Api",
        "ApiRef",
        "ClaimedCall",
        "Deviation",
        "GoldCall",
        "Limits",
        "ModelEndpoint",
        "Parameter",
        "Query",
        "Score",
        "ToolSpec",
        "TrialResult",
        "Usage",
        "WireLog",
    ),
    "scoring": ("ScoreContext",),
    "tools": ("Tool",),
}

__all__ = [
    "SYSTEM_PROMPT",
    "Answer",
    "Api",
    "ApiRef",
    "BaseAgent",
    "ClaimedCall",
    "DataError",
    "Dataset",
    "DatasetDriver",
    "Deviation",
    "Executor",
    "GoldCall",
    "Judge",
    "JudgeError",
    "Limits",
    "ModelAdapter",
    "ModelEndpoint",
    "ModelFailed",
    "Parameter",
    "Query",
    "Reporter",
    "Score",
    "ScoreContext",
    "Simulation",
    "SimulationError",
    "Simulator",
    "Tool",
    "ToolSelector",
    "ToolSpec",
    "TrialResult",
    "TrialbedError",
    "Usage",
    "UsageError",
    "Vendor",
    "Verdict",
    "WireLog",
    "arun_benchmark",
    "finish_of",
    "hookimpl",
    "run_benchmark",
]

_load, __dir__ = _lazy.names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trialbed")
    return _load(name)
