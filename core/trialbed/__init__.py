"""Trialbed: the rig on which agent frameworks and model vendors prove how well they use tools.

The public names are loaded when they are first used, so that ``import trialbed`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "Answer": "records",
    "Api": "records",
    "ApiRef": "records",
    "BaseAgent": "contracts",
    "ClaimedCall": "records",
    "DataError": "errors",
    "Dataset": "contracts",
    "DatasetDriver": "contracts",
    "Deviation": "records",
    "Executor": "contracts",
    "GoldCall": "records",
    "Judge": "contracts",
    "JudgeError": "errors",
    "Limits": "records",
    "ModelAdapter": "contracts",
    "ModelEndpoint": "records",
    "ModelFailed": "errors",
    "Parameter": "records",
    "Query": "records",
    "Reporter": "contracts",
    "SYSTEM_PROMPT": "prompts",
    "Score": "records",
    "ScoreContext": "scoring",
    "Simulation": "contracts",
    "SimulationError": "errors",
    "Simulator": "contracts",
    "Tool": "tools",
    "ToolSelector": "contracts",
    "ToolSpec": "records",
    "TrialResult": "records",
    "TrialbedError": "errors",
    "Usage": "records",
    "UsageError": "errors",
    "Vendor": "contracts",
    "Verdict": "contracts",
    "WireLog": "records",
    "arun_benchmark": "engine",
    "finish_of": "prompts",
    "hookimpl": "hookspecs",
    "run_benchmark": "engine",
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


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trialbed")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trialbed' has no attribute {name!r}")
    return getattr(import_module(f"trialbed.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
