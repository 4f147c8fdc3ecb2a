"""The contract of a model: what names one, opens it for a run, and answers the requests of a trial."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar

from trialbed.records import TrialRegistration, WireLog
from trialbed.settings import RunSettings
from trialbed.wire import ModelAnswer, ModelRequest
from trialbed.wire.dialects import Dialect

MODEL_CONTRACT = "1"
"""The version of ``ModelDriver``; a driver names the one it was written for as ``contract``."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model as its driver describes it, before it is opened.

    Attributes:
        identity: changes whenever the model may answer otherwise: a digest of its weights, its template or its
            recording, never a port or a path. Empty where its name, and the address of its endpoint, say it all.
        told_name: the name that frameworks are given in place of its own; None for its own.
        at_endpoint: whether it is one of the run's endpoint (``--base-url``), which must be named then.
        costs: whether its answers cost money; None where that is not known.
        deterministic: whether it gives equal requests of a trial equal answers; None where that is not known.
        needs: its requirements beside its name, in words, such as a file or a key; empty for nothing.
        cached: whether equal requests share one answer of the model cache; None only where ``--model-cache`` names a
            file, False never.
        answers_seed: whether it has any answer for the trials of a seed, as a recording has for some; None for any.
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
        model: its name where requests are put to it: at its endpoint, or as ``SCHEME:NAME`` in the gateway.
        base_url: its endpoint, ending in ``/v1``; None where the gateway answers for it by ``ModelDriver.begin``.
        api_key: sent to that endpoint as bearer token; None for none.
        notes: for the user, before the first trial, a sentence each.
        at_once: how many requests it answers at a time; no more trials are run at a time. None for any number.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    at_once: int | None = None


@dataclass(frozen=True)
class ModelQuestion:
    """A request of a trial to its model.

    Attributes:
        request: in canonical form; its document is there too.
        dialect: of the request and its answer.
        place: how many requests the trial sent before.
        held: entered while the answer waits for another trial's request; that time is not the agent's.
    """

    request: ModelRequest
    dialect: Dialect
    place: int
    held: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass(frozen=True)
class ModelReply:
    """An answer, and how fast it is given.

    Attributes:
        answer: in canonical form; where it names no model, the gateway puts in the trial's, and the time.
        first: seconds before its first byte.
        pause: seconds between the pieces of a stream.
        body: the whole response, sent as it is in place of the answer; a stream of events if the request asks for one.
        recorded: seconds that the model took for it when it was recorded; None for an answer of now.
    """

    answer: ModelAnswer = field(default_factory=ModelAnswer)
    first: float = 0.0
    pause: float = 0.0
    body: bytes | None = None
    recorded: float | None = None


@dataclass(frozen=True)
class ServedAnswer:
    """A whole answer as a framework was given it.

    Attributes:
        body: byte for byte; a stream of events where ``stream`` is true.
        duration: seconds that the model took.
    """

    body: bytes = field(repr=False)
    stream: bool
    duration: float


class ReplyMissing(Exception):
    """A recorded model has no answer to a request; the text says why.

    The trial is not measured: this is neither the framework's fault nor the model's.
    """


class TrialModel(ABC):
    """A model as it answers one trial in the gateway; made for the trial and gone with it.

    Attributes:
        asks: the name of the model at the server's endpoint that answers where this one does not.
        is_strict: whether requests that vendors refuse are refused before it is asked.
    """

    asks: str = ""
    is_strict: bool = False

    @abstractmethod
    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Answer one request; None leaves it to the endpoint. Requests may overlap.

        Raises:
            ReplyMissing: there is no answer, and no endpoint is to be asked.
            Exception: the model is broken: the trial is not measured.
        """

    def note_answer(self, question: ModelQuestion, answer: ServedAnswer | None) -> None:  # noqa: ARG002 - for recorders
        """A request was answered, by this model or by the endpoint that it left it to; None if it was not."""
        return

    def complete(self, log: WireLog) -> WireLog:
        """Return the log of the trial with the model's own remarks on it; it may be asked more than once."""
        return log


class ModelDriver(ABC):
    """The models of one scheme; a driver of the group ``trialbed.models`` is a subclass that takes no arguments.

    The name of its entry point is the scheme: ``bench run --model SCHEME:NAME``. A driver whose models are endpoints,
    or programs that it starts, implements ``open``; one whose models answer in the gateway implements ``begin``.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.
        settings: names of settings of a run that its models read, and those of most other drivers do not.
    """

    contract: ClassVar[str]
    settings: ClassVar[Sequence[str]] = ()

    def advice(self) -> str:
        """Why it cannot list models that it could serve, and how it can; empty where nothing is missing."""
        return ""

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - drivers override it
        """The names that can be listed, without the scheme; for completion, and for ``bench models``.

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
        """The model for one trial, which the gateway asks; None where an endpoint answers.

        This runs in the server, which need not be on the machine of ``open``.

        Raises:
            UsageError: there is no such model.
        """
        return None

    scheme: str = ""
    """Set when the driver is found: the name of its entry point."""
