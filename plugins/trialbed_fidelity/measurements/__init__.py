"""The measurements: each module runs scenarios, reads what the server saw, and returns a record.

The parts of a report are ``Schemas``, ``Prompt``, ``Behaviour``, ``ManyTools`` and ``Load``. Behaviour is made of
measurements of its own: requests per turn, parallel calls, settings, and the limits of steps and time.
"""

from trialbed_fidelity.measurements._behaviour import Behaviour, measure_behaviour
from trialbed_fidelity.measurements._figures import Figure
from trialbed_fidelity.measurements._limits import StepLimit, TimeLimit
from trialbed_fidelity.measurements._load import Load, LoadLevel, measure_load
from trialbed_fidelity.measurements._many import ManyTools, measure_many
from trialbed_fidelity.measurements._parallel import Parallel
from trialbed_fidelity.measurements._prompt import Prompt, TurnSize, measure_prompt, run_prompt_trial
from trialbed_fidelity.measurements._schemas import SchemaFinding, Schemas, measure_schemas
from trialbed_fidelity.measurements._settings import Setting, Settings
from trialbed_fidelity.measurements._turns import PolicyRequests

__all__ = [
    "Behaviour",
    "Figure",
    "Load",
    "LoadLevel",
    "ManyTools",
    "Parallel",
    "PolicyRequests",
    "Prompt",
    "SchemaFinding",
    "Schemas",
    "Setting",
    "Settings",
    "StepLimit",
    "TimeLimit",
    "TurnSize",
    "measure_behaviour",
    "measure_load",
    "measure_many",
    "measure_prompt",
    "measure_schemas",
    "run_prompt_trial",
]
