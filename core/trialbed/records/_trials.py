"""The input of a worker and the server for one trial, their output, and the findings about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from annotated_types import Gt
from pydantic import Field, model_validator

from trialbed.records._base import Json, Record, SparseRecord
from trialbed.records._faults import FaultPlan
from trialbed.records._models import Limits, ModelEndpoint, Usage
from trialbed.records._queries import Api, ApiRef, GoldCall, ScriptedCall, ToolSpec, User, UserCall, UserTurn
from trialbed.records._scores import NOT_MEASURED, Failure, Score
from trialbed.records._wire import ApiCall, WireLog

Finish = Literal["give_answer", "give_up_and_restart"]

GIVE_UP = "GIVE_UP"
"""A model writes this first when it cannot solve the task."""


def finish_of(text: str) -> Finish | None:
    """Return how an agent with this last message finished, or None if the message is empty."""
    stripped = text.strip()
    if not stripped:
        return None
    return "give_up_and_restart" if stripped.startswith(GIVE_UP) else "give_answer"


class ClaimedCall(Record):
    """A tool call that the framework reports.

    Attributes:
        name: the reported name, which is the tool's name or the original ``{tool_name}_{api_name}``.
        api: the Api meant; None if no tool of this name was offered.
        arguments: the reported arguments; text if the framework kept text that is not a JSON object.
        response: the reported response, as text.
    """

    name: str
    api: ApiRef | None = None
    arguments: dict[str, Json] | str | None = None
    response: str = ""


LONG = 50_000
"""Characters of an answer that is read in about 50 ms."""


class Answer(Record):
    """The outcome of a trial in the agent's own words, which are not verified.

    The text alone is enough: ``Answer(final_answer="Paris")`` has answered and finished, and claims nothing else.

    Attributes:
        final_answer: text for the user; empty when the agent did not finish.
        calls: in the order of the framework's report.
        finish: how the agent ended: an answer, giving up, or None when it did not finish (step limit, empty text). If
            it is not given, ``finish_of`` reads it from the text.
        usage: tokens counted by the framework, None if it does not count them.
        model_turns: model calls counted by the framework, None if it does not count them.
        reports_calls: whether it says which calls were made; if not, ``calls`` is empty and claims nothing. By default
            it is true if ``calls`` is given.
    """

    final_answer: str
    calls: tuple[ClaimedCall, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    model_turns: int | None = None
    reports_calls: bool = True

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        text = given.get("final_answer")
        finish = finish_of(text) if isinstance(text, str) else None
        return {"finish": finish, "reports_calls": "calls" in given, **given}

    @property
    def is_long(self) -> bool:
        """Return whether reading it takes long enough to be done in a thread."""
        return len(self.final_answer) > LONG


Stage = Literal[
    "not offered",  # its Api was not among the tools that the model was offered
    "not called",  # the model did not ask for it
    "wrong arguments",  # the model asked for its Api, but not with its arguments
    "not made",  # the model asked for it, but the framework did not call the Api, or with other arguments
    "api failed",  # the Api answered with an error
    "trial failed",  # the trial ended in an error, before the call or after it
    "not used",  # nothing of the response is in the answer or in a later call
]
"""The stage that lost an expected call, in the order of its way to the answer."""

STAGES: tuple[Stage, ...] = get_args(Stage)


class AttributedCall(SparseRecord):
    """An expected call, and the stage that lost it.

    Attributes:
        lost: the first stage that it did not pass; None if its result was used.
        reason: why, in words; empty if it was not lost.
        requests: the requests to the model that show a loss by the framework, from 1. They are the request that was
            answered with the call, and the next, if there is one.
    """

    gold: GoldCall
    lost: Stage | None = None
    reason: str = ""
    requests: tuple[int, ...] = ()

    sparse = ("requests",)


IntegrityKind = Literal[
    "other_model",  # requests for another model than the run's, which were refused
    "other_model_answered",  # requests that another model answered
    "added_header",  # requests with headers or a query that no usual client sends
    "old_functions",  # requests with tools in the old field; their calls do not count
    "required_choice",  # requests that demand some call
    "forced_choice",  # requests that force a call of one tool
    "added_tool",  # tools on offer that are not the trial's
    "answer_key",  # expected values that a request has, and nothing in the trial before it
    "forced_call",  # calls that were made because the request forced them
    "dictated_call",  # calls that the request had already
    "changed_call",  # calls with arguments that the model did not write
    "unasked_call",  # calls in no answer of the model
    "invented_call",  # calls of the agent's own tools that stand in the conversation, and in no answer of the model
    "outside_clock",  # requests outside of the time that the worker reported
    "unwritten_answer",  # answers that differ from the model's last words
    "unsourced_answer",  # answers that say things without a source in the trial
    "invented_claim",  # calls that are claimed and were never made
]


class IntegrityFinding(Record):
    """One kind of finding in one trial.

    Attributes:
        count: how many requests, calls, tools, answers or claims.
        examples: the names of models, tools and Apis, each once; the first ones.
    """

    kind: IntegrityKind
    count: int
    examples: tuple[str, ...] = ()


Rating = Literal["right", "wrong", "unclear"]


class Annotation(Record):
    """A person's words on a trial, which stay with its run and change no score.

    Attributes:
        framework, query_id, repeat: identify the trial within its run.
        rating: the person's verdict on the answer, if any.
        correction: a right answer, in place of the trial's.
    """

    framework: str
    query_id: int | str
    repeat: int = 0
    rating: Rating | None = None
    note: str = ""
    correction: str = ""

    @property
    def key(self) -> tuple[str, int | str, int]:
        """The trial."""
        return self.framework, self.query_id, self.repeat

    @property
    def words(self) -> dict[str, str | None]:
        """The rating, the note and the correction."""
        return {"rating": self.rating, "note": self.note, "correction": self.correction}

    @property
    def is_empty(self) -> bool:
        """Return whether it says nothing."""
        return self.rating is None and not self.note and not self.correction


class TrialKey(Record):
    """The identity of a trial within its run."""

    framework: str
    query_id: int | str
    repeat: int = 0


class TrialSpec(Record):
    """All that a worker needs for one trial.

    Attributes:
        trial: the trial's token, as the URL path has it.
        server_url: the trial's own virtual API, ``…/t/<trial>/virtual``.
        tools: sorted by name, the same for every framework of the run.
        fresh: whether the trial needs a worker that has run no other.
        has_turns: whether the user's next message is to be fetched when the agent has answered.
    """

    trial: str
    key: TrialKey
    query: str
    system_prompt: str
    tools: tuple[ToolSpec, ...]
    endpoint: ModelEndpoint
    limits: Limits
    server_url: str
    fresh: bool = False
    has_turns: bool = False

    @classmethod
    def at(cls, root: str, endpoint: ModelEndpoint, **fields: Any) -> TrialSpec:
        """Return a trial with its model and Apis below a server's address.

        Args:
            root: the address, which ends in the trial's token.
            endpoint: the settings of the model; without an address of its own, the model is below ``root`` too.
            fields: the other fields.
        """
        served = endpoint if endpoint.base_url else endpoint.model_copy(update={"base_url": f"{root}/v1"})
        token = root.rpartition("/")[2]
        return cls(trial=token, endpoint=served, server_url=f"{root}/virtual", **fields)


class Outcome(Record):
    """The outcome of a trial, an answer or a failure, and how long the agent ran.

    Attributes:
        started_at: the beginning of ``wall_time`` on the worker's clock. If the agent could not be made, the beginning
            of the attempt to make it.
        wall_time: seconds from binding the tools to the end of ``answer()``, on the executor's clock.
        first: whether it was the first trial of its worker process, which does one-time work for later trials; never if
            the agent is an object of the caller's process.
        ended_at: when the executor learned that ``answer()`` had ended, on its own clock. None if it did not, and if
            the agent is an object of the caller's process.
        cpu_time: processor seconds of the worker in that time, user and system, in all threads and in children that it
            waited for, by its own account. None if it gave none, and if the agent is an object of the caller's process.
        node: where it ran; empty if the executor has no nodes.
    """

    started_at: datetime
    wall_time: float
    answer: Answer | None = None
    failure: Failure | None = None
    first: bool = False
    ended_at: datetime | None = None
    cpu_time: float | None = None
    node: str = ""


class Timing(Record):
    """Wall time of a trial in seconds, split into model, tools, waiting and framework.

    ``model`` and ``tool`` are the union of the server's intervals (parallel calls count once, and time in which both
    were waited for counts as model); ``framework`` is the rest of ``wall``. ``waiting`` is the gateway's time for
    repeating failed requests or giving recorded answers; the others do not include it.
    """

    wall: float
    model: float
    tool: float
    framework: float
    waiting: float = 0.0


TrialStatus = Literal["answered", "failed", "not measured"]


class TrialResult(Record):
    """A trial that has ended, in its stored and reported form with scores.

    Attributes:
        attempt: counts from 0; a trial is attempted again if it was not measured, or on request if it failed.
        adapter_digest: SHA-256 over the files of the adapter's code and the versions of its requirements; empty without
            an adapter.
        earlier: how the trial ended in a worker that had run others, before it was repeated in a fresh one: it failed
            there without a single model request, which may have been the fault of an earlier trial.
        topped_up_tools: the part of ``selected_tools`` that was added because a model chose too few.
        integrity: the findings on the wire that bear on whether its scores are the framework's and the model's; None if
            they were not looked for, as before this was a field.
        gold_calls: the fate of the query's expected calls; None if the trial was not measured.
        absent: the scores that no trial of the query can have; a failed trial is not 0 in them.
        cost: of the tokens that the run's model reported, in US dollars; None if its prices are not known.
        verified: a verification's findings about the endpoint's answer, by the keys of its results file; None if the
            subject is a framework.
    """

    trial: str
    key: TrialKey
    seed: int
    outcome: Outcome
    wire: WireLog
    timing: Timing
    selected_tools: tuple[str, ...]
    scores: tuple[Score, ...] = ()
    evaluation_time: float = 0.0
    attempt: int = 0
    adapter_digest: str = ""
    earlier: tuple[Outcome, ...] = ()
    topped_up_tools: tuple[str, ...] = ()
    integrity: tuple[IntegrityFinding, ...] | None = None
    gold_calls: tuple[AttributedCall, ...] | None = None
    absent: tuple[str, ...] = ()
    cost: float | None = None
    verified: dict[str, Json] | None = None

    @property
    def status(self) -> TrialStatus:
        """Answered, failed (the user got nothing and every quality score is 0), or not measured (without scores)."""
        failure = self.outcome.failure
        if failure is None:
            return "answered"
        if self.verified is not None and failure.kind == "endpoint":
            return "failed"  # of the endpoint itself, which is the subject of the measurement
        return "not measured" if failure.kind in NOT_MEASURED else "failed"

    @property
    def answer(self) -> Answer | None:
        """The answer with the calls, tokens and turns that the agent claims; None if it gave none.

        It comes with a failure if the server saw more than the agent says, such as requests past the limit.
        """
        return self.outcome.answer

    @property
    def failure(self) -> Failure | None:
        """The reason why the trial has no valid answer; None if it has one."""
        return self.outcome.failure

    @property
    def first(self) -> bool:
        """Whether it was the first trial of its worker."""
        return self.outcome.first

    @property
    def pair(self) -> tuple[int | str, int]:
        """The query and the repeat."""
        return self.key.query_id, self.key.repeat

    @property
    def failed(self) -> bool:
        """Return whether the trial ended in an error, whether or not it was measured."""
        return self.outcome.failure is not None

    def score(self, name: str) -> Score | None:
        """Return the score of this name, if there is one."""
        return next((score for score in self.scores if score.name == name), None)


class GoldAnswer(Record):
    """The answers to a query's expected calls, if the run made them itself.

    Attributes:
        seconds: from the first call to the last answer.
        calls: in the order of the query's expected calls.
    """

    query_id: int | str
    seconds: float
    calls: tuple[ApiCall, ...] = ()

    @property
    def responses(self) -> tuple[Json, ...]:
        """The responses of the calls that succeeded."""
        return tuple(call.response for call in self.calls if call.status == 200 and not call.error)


class TrialRegistration(Record):
    """Open a trial under a token with ``POST /control/trials``.

    Attributes:
        trial: the token, ``[A-Za-z0-9_-]{8,64}``; unguessable, since it is the only protection of the trial's URLs.
        model: ``SCHEME:NAME`` of a model that answers in the gateway, such as ``scripted:gold``, or a model name that
            the server's upstream endpoint knows.
        model_name: the name of the model that the agent is given and uses in its requests; None for the model's own.
        allowed_models: further models that its requests may name, ``*`` for any; others are refused.
        base_url: the upstream endpoint expected; must be the one the server was started with. None if the model answers
            in the gateway, or for any endpoint of the server.
        tools: the tools offered to the agent.
        apis: their documentation, for the simulator.
        script: the expected calls, for scripted models.
        finish_tool: the tool that ends their script; empty for a text.
        turns: the messages of a user who writes several; empty for one message.
        user: the simulated user who answers.
        gold_calls: the calls that reach the user's goal.
        user_tools: the user's own tools, whose calls the opening program answers at ``callback_url``.
        user_calls: the calls of them that reach the user's goal.
        simulator: name of the simulator that answers for these Apis.
        called_back: the Apis that the opening program answers itself, at ``callback_url``, which must stay secret. Only
            a server that is started for one run asks there, also for the messages of a user of kind ``caller``.
        state: the first state of the Apis' world; None for the simulator's own.
        ambient: whether requests without a token (``/virtual``, ``/v1``) belong to this trial; one trial at a time.
        limits: the bounds that the gateway enforces. It refuses requests past ``max_steps`` and after ``timeout``
            seconds, and gives up on an endpoint that is silent for as long. None for no bounds.
        max_trial_tokens: how many tokens the model may use, by its own report; the gateway refuses the request after
            that. None for any number.
        lease: seconds after which the server closes the trial unless its opener renews it with ``PUT
            /control/trials/{trial}``. None: the server closes it when it has been idle for long.
        faults: the faults to inject, if any.
        fault_key: seeds their draw in addition to the plan's seed; equal for trials that must meet the same faults.
        cached_as: the model's identity in the server's model cache, which shares one answer between equal requests;
            empty if its answers are not cached.
        keep: whether the server keeps all but ``trial``, ``seed`` and ``fault_key`` for trials that are opened like
            this one. Its answer then has the ``setup`` that a ``TrialOpening`` names.
    """

    trial: str
    model: str
    model_name: str | None = None
    allowed_models: tuple[str, ...] = ()
    base_url: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    apis: tuple[Api, ...] = ()
    script: tuple[ScriptedCall, ...] = ()
    finish_tool: str = ""
    turns: tuple[UserTurn, ...] = ()
    user: User | None = None
    gold_calls: tuple[GoldCall, ...] = ()
    user_tools: tuple[Api, ...] = ()
    user_calls: tuple[UserCall, ...] = ()
    simulator: str = "template"
    called_back: tuple[ApiRef, ...] = ()
    callback_url: str | None = Field(default=None, repr=False)
    state: Json = None
    seed: int = 0
    ambient: bool = False
    limits: Limits | None = None
    max_trial_tokens: int | None = None
    lease: Annotated[float, Gt(0)] | None = None
    faults: FaultPlan | None = None
    fault_key: str = ""
    cached_as: str = ""
    keep: bool = False


class TrialOpening(Record):
    """Open a trial like an earlier one with ``POST /control/trials``, without sending the common part again.

    Attributes:
        setup: the setup in the answer to a registration with ``keep``. A server that does not know it, or not any more,
            answers 404, and takes a whole registration instead.
        trial, seed, fault_key: the trial's own, as in ``TrialRegistration``.
    """

    trial: str
    setup: str
    seed: int = 0
    fault_key: str = ""
