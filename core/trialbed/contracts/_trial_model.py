"""The contract of a model that answers the requests of a trial in the gateway."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trialbed.wire import ModelAnswer, ModelRequest
from trialbed.wire.dialects import Dialect

if TYPE_CHECKING:
    from trialbed.records import WireLog


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
