from ._snapshots import Snapshot as Snapshot
from ._trial import CallsMade as CallsMade
from ._trial import Condition as Condition
from ._trial import ObservedTrial as ObservedTrial
from ._trials import AgentProgram as AgentProgram
from ._trials import AgentTrials as AgentTrials
