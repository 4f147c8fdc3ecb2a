"""The measurements: each module runs scenarios, reads the server's log, and returns a record.

The parts of a report are ``ToolSchemas``, ``Prompt``, ``Behaviour`` and the findings on errors.
Behaviour is made of measurements of its own: requests per turn, parallel calls, settings, and the limits of steps and
time.
"""

from trialbed_adapter_lab.fidelity.measurements._behaviour import Behaviour, StepLimit, TimeLimit, measure_behaviour
from trialbed_adapter_lab.fidelity.measurements._errors import (
    CASES,
    ErrorFinding,
    finding_of,
    measure_errors,
)
from trialbed_adapter_lab.fidelity.measurements._figures import Figure, figure
from trialbed_adapter_lab.fidelity.measurements._invariants import InvariantFinding, invariant_findings
from trialbed_adapter_lab.fidelity.measurements._parallel import Parallel
from trialbed_adapter_lab.fidelity.measurements._prompt import Prompt, TurnSize, measure_prompt, run_prompt_trial
from trialbed_adapter_lab.fidelity.measurements._schemas import Called, SchemaFinding, ToolSchemas, measure_schemas
from trialbed_adapter_lab.fidelity.measurements._settings import SentSetting, Settings
from trialbed_adapter_lab.fidelity.measurements._turns import PolicyRequests

__all__ = [
    "CASES",
    "Behaviour",
    "Called",
    "ErrorFinding",
    "Figure",
    "InvariantFinding",
    "Parallel",
    "PolicyRequests",
    "Prompt",
    "SchemaFinding",
    "SentSetting",
    "Settings",
    "StepLimit",
    "TimeLimit",
    "ToolSchemas",
    "TurnSize",
    "figure",
    "finding_of",
    "invariant_findings",
    "measure_behaviour",
    "measure_errors",
    "measure_prompt",
    "measure_schemas",
    "run_prompt_trial",
]
