"""One trial: what a worker is given and what comes back."""

from __future__ import annotations

from datetime import datetime

from trialbed.records._answers import Answer
from trialbed.records._base import Record
from trialbed.records._models import Limits, ModelEndpoint
from trialbed.records._scores import Failure, Score
from trialbed.records._tools import ToolSpec
from trialbed.records._wire import WireLog


class TrialKey(Record):
    """The identity of a trial within its run."""

    framework: str
    query_id: int | str
    repeat: int = 0


class TrialSpec(Record):
    """All that a worker needs for one trial.

    Attributes:
        trial: the trial's token, as it stands in the URL path.
        server_url: the trial's own virtual API, ``…/t/<trial>/virtual``.
        tools: sorted by name, the same for every framework of the run.
    """

    trial: str
    key: TrialKey
    query: str
    system_prompt: str
    tools: tuple[ToolSpec, ...]
    endpoint: ModelEndpoint
    limits: Limits
    server_url: str


class Outcome(Record):
    """How a trial ended: an answer or a failure, and how long the agent ran.

    Attributes:
        wall_time: seconds from binding the tools to the end of ``answer()``.
    """

    started_at: datetime
    wall_time: float
    answer: Answer | None = None
    failure: Failure | None = None


class Timing(Record):
    """Wall time of a trial in seconds, split by who was waited for.

    ``model`` and ``tool`` are the union of the server's intervals (parallel calls count once, and time
    in which both were waited for counts as model); ``framework`` is the rest of ``wall``.
    """

    wall: float
    model: float
    tool: float
    framework: float


class TrialResult(Record):
    """A trial that has ended: what is stored, scored hooks included, and reported."""

    trial: str
    key: TrialKey
    seed: int
    outcome: Outcome
    wire: WireLog
    timing: Timing
    selected_tools: tuple[str, ...]
    scores: tuple[Score, ...] = ()
    evaluation_time: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the trial ended in an error; it then has no scores and enters no average."""
        return self.outcome.failure is not None

    def score(self, name: str) -> Score | None:
        """The score of this name, if there is one."""
        return next((score for score in self.scores if score.name == name), None)
