"""The contracts of model drivers, and of a model that answers the requests of a trial in the gateway."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from trialbed.wire import ModelAnswer, ModelRequest
from trialbed.wire.dialects import Dialect

if TYPE_CHECKING:
    from trialbed.records import TrialRegistration, WireLog
    from trialbed.settings import RunSettings


@dataclass(frozen=True)
class ModelQuestion:
    """A request of a trial to its model.

    Attributes:
        request: in canonical form; its document is there too.
        dialect: of the request and its answer.
        place: how many requests the trial sent before.
        turn: how many messages of the user came before this turn's.
        said: the user's message of this turn, in a conversation of several.
        user_calls: how many calls of its own tools the user has made so far.
        held: entered while the answer waits for another trial's request; that time is not the agent's.
    """

    request: ModelRequest
    dialect: Dialect
    place: int
    turn: int = 0
    said: str = ""
    held: Callable[[], AbstractContextManager[None]] = nullcontext
    user_calls: int = 0


@dataclass(frozen=True)
class ModelReply:
    """An answer, and how fast it is given.

    Attributes:
        answer: in canonical form; if it names no model, the gateway adds the trial's, and the time.
        first: seconds before its first byte.
        pause: seconds between the pieces of a stream.
        body: the whole response, sent unchanged in place of the answer; a stream of events if the request asks for one.
        status, content_type, headers: of that response; the default type is JSON's or an event stream's.
        recorded: seconds that the model took for it when it was recorded; None for a new answer.
    """

    answer: ModelAnswer = field(default_factory=ModelAnswer)
    first: float = 0.0
    pause: float = 0.0
    body: bytes | None = None
    status: int = 200
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    recorded: float | None = None


@dataclass(frozen=True)
class ServedAnswer:
    """A whole answer that a framework was given.

    Attributes:
        body: byte for byte; a stream of events if ``stream`` is true.
        duration: seconds that the model took.
    """

    body: bytes = field(repr=False)
    stream: bool
    duration: float


class ReplyMissing(Exception):
    """A recorded model has no answer to a request; the text says why.

    The trial is not measured: this is neither the framework's fault nor the model's.
    """


class QuestionRefused(Exception):
    """A model refuses a request, for a reason in the request itself; the text says why."""


class TrialModel(ABC):
    """A model that answers one trial in the gateway, and lives as long as the trial.

    Attributes:
        asks: the name of the model at the server's endpoint that answers if this one does not.
        is_strict: whether requests that vendors refuse are refused before it is asked.
    """

    asks: str = ""
    is_strict: bool = False

    @abstractmethod
    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Answer one request; None leaves it to the endpoint. Requests may overlap.

        Raises:
            ReplyMissing: there is no answer, and no endpoint is to be asked.
            QuestionRefused: the request is to blame.
            Exception: the model is broken: the trial is not measured.
        """

    def note_answer(self, question: ModelQuestion, answer: ServedAnswer | None) -> None:  # noqa: ARG002 - for recorders
        """A request was answered, by this model or by the endpoint that it left it to; None if it was not."""
        return

    def complete(self, log: WireLog) -> WireLog:
        """Return the log of the trial with the model's own remarks on it; it may be asked more than once."""
        return log


MODEL_CONTRACT = "1"
"""The version of ``ModelDriver``; a driver names the one it was written for as ``contract``."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model described by its driver, before it is opened.

    Attributes:
        identity: changes if the model may answer differently. A digest of its weights, its template or its recording,
            never a port or a path. Empty if its name and the address of its endpoint say it all.
        told_name: the name that frameworks are given in place of its own; None for its own.
        at_endpoint: whether it is served by the run's endpoint (``--base-url``), which must be named then.
        costs: whether its answers cost money; None if that is not known.
        deterministic: whether it gives equal requests of a trial equal answers; None if that is not known.
        needs: its requirements in addition to its name, in words, such as a file or a key; empty for nothing.
        cached: whether equal requests share one answer of the model cache; None only if ``--model-cache`` names a file,
            False never.
        answers_seed: returns whether it has any answer for the trials of a seed, as a recording has for some; None for
            any.
    """

    identity: str = ""
    told_name: str | None = None
    at_endpoint: bool = False
    costs: bool | None = None
    deterministic: bool | None = None
    needs: str = ""
    cached: bool | None = None
    answers_seed: Callable[[int], bool] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class OpenedModel:
    """A model that is open.

    Attributes:
        model: its name in requests, either at its endpoint or as ``SCHEME:NAME`` in the gateway.
        base_url: its endpoint, ending in ``/v1``; None if the gateway answers for it by ``ModelDriver.begin``.
        api_key: sent to that endpoint as bearer token, if any.
        notes: for the user, before the first trial, a sentence each.
        at_once: how many requests it answers at a time; no more trials are run at a time. None for any number.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    at_once: int | None = None


class ModelDriver(ABC):
    """The models of one scheme; a driver of the group ``trialbed.models`` is a subclass that takes no arguments.

    The name of its entry point is the scheme: ``bench run --model SCHEME:NAME``. A driver implements ``open`` if its
    models are endpoints, or programs that it starts, and ``begin`` if its models answer in the gateway.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.
    """

    contract: ClassVar[str]

    def advice(self) -> str:
        """Return why it cannot list models that it could serve, and how to change that; empty if nothing is missing."""
        return ""

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - drivers override it
        """Return the names that can be listed, without the scheme; for ``bench models``.

        Raises:
            TrialbedError: they cannot be listed; says why.
        """
        return ()

    @abstractmethod
    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe a model; starts nothing.

        Args:
            name: without the scheme.

        Raises:
            UsageError: there is no such model, or something that it needs is missing; says what to do.
        """

    def open(self, name: str, settings: RunSettings) -> AbstractAsyncContextManager[OpenedModel]:  # noqa: ARG002
        """Open a model for a run, before its server and its workers start; it is closed after them.

        Raises:
            TrialbedError: it cannot be opened, or would answer nothing; says why.
        """
        return nullcontext(OpenedModel(model=f"{self.scheme}:{name}"))

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel | None:  # noqa: ARG002
        """Return the model for one trial, which the gateway asks, or None if an endpoint answers.

        This runs in the server, which need not be on the machine of ``open``.

        Raises:
            UsageError: there is no such model.
        """
        return None

    scheme: str = ""
    """The name of its entry point; set when the driver is found."""
