"""The contracts of drivers: one abstract class per kind."""

from trialbed.contracts._agent import AGENT_CONTRACT, SYSTEM_PROMPT, BaseAgent
from trialbed.contracts._comparer import Comparer, Comparison
from trialbed.contracts._dataset import Dataset, DatasetDriver
from trialbed.contracts._executor import Executor, Sandbox
from trialbed.contracts._judge import (
    STATUS_VALUES,
    AnswerStatus,
    Candidate,
    Judge,
    Preference,
    Verdict,
    Vote,
    Winner,
)
from trialbed.contracts._reporter import Reporter
from trialbed.contracts._selector import SelectionFactory, SelectionStage, ToolSelector
from trialbed.contracts._simulator import ApiRefused, Example, Simulation, Simulator, World
from trialbed.contracts._vendor import VENDOR_CONTRACT, ModelAdapter, Vendor
from trialbed.contracts._viewer import FileView, FileViewer

__all__ = [
    "AGENT_CONTRACT",
    "STATUS_VALUES",
    "SYSTEM_PROMPT",
    "VENDOR_CONTRACT",
    "AnswerStatus",
    "ApiRefused",
    "BaseAgent",
    "Candidate",
    "Comparer",
    "Comparison",
    "Dataset",
    "DatasetDriver",
    "Example",
    "Executor",
    "FileView",
    "FileViewer",
    "Judge",
    "ModelAdapter",
    "Preference",
    "Reporter",
    "Sandbox",
    "SelectionFactory",
    "SelectionStage",
    "Simulation",
    "Simulator",
    "ToolSelector",
    "Vendor",
    "Verdict",
    "Vote",
    "Winner",
    "World",
]
