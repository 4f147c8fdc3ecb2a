"""What implementations promise: one abstract class per kind of driver."""

from trialbed.contracts._agent import AGENT_CONTRACT, BaseAgent
from trialbed.contracts._dataset import Dataset, DatasetDriver
from trialbed.contracts._executor import Executor
from trialbed.contracts._judge import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.contracts._reporter import Reporter
from trialbed.contracts._selection import SelectionFactory, SelectionStage
from trialbed.contracts._selector import ToolSelector
from trialbed.contracts._simulator import Simulation, Simulator

__all__ = [
    "AGENT_CONTRACT",
    "STATUS_VALUES",
    "AnswerStatus",
    "BaseAgent",
    "Dataset",
    "DatasetDriver",
    "Executor",
    "Judge",
    "Reporter",
    "SelectionFactory",
    "SelectionStage",
    "Simulation",
    "Simulator",
    "ToolSelector",
    "Verdict",
]
