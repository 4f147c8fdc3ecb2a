"""Requests to models and their answers in one form for all dialects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

Document = dict[str, Any]

TextKind = Literal["reasoning", "text", "refusal"]
"""The kinds of texts in an answer, in their order."""

COMPLETE = frozenset(("stop", "tool_calls"))
"""Finish reasons of answers that are not cut."""

TEXTS = frozenset(("text", "input_text", "output_text"))
"""Types of content parts that count as the text; others hold the model's thoughts."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call sent by a model.

    Attributes:
        arguments: as text, which need not be JSON.
        id: empty if the call has no id.
        source: the call in its dialect, with further fields; may be empty.
    """

    name: str
    arguments: str
    id: str = ""
    source: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool on offer in a request.

    Attributes:
        parameters: the JSON Schema of its arguments; may be empty.
        source: the tool in its dialect, with further fields.
    """

    name: str
    description: str = ""
    parameters: Any = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


class ToolChoice(NamedTuple):
    """The calls that a request wants, ``auto``, ``required`` or ``none``; a name asks for a call of that tool.

    Attributes:
        mode: ``required`` for dialects' ``any``, too.
        allowed: the tools on offer that may be called; empty for all.
    """

    mode: str = "auto"
    name: str = ""
    allowed: tuple[str, ...] = ()

    def allows(self, tool: str) -> bool:
        """Return whether a tool on offer may be called."""
        return self.mode != "none" and self.name in ("", tool) and (not self.allowed or tool in self.allowed)


TokenLogprob = tuple[str, float, tuple[tuple[str, float], ...]]
"""A token of an answer, the natural logarithm of its probability, and the likeliest tokens there with theirs."""


@dataclass(frozen=True, slots=True)
class GenerationConfig:
    """Settings of a request for generating its answer; None leaves a setting to the endpoint.

    Attributes:
        max_tokens: of the answer.
        stop: the texts before which it ends.
        parallel_calls: whether it may have several calls.
        reply_schema: the JSON Schema of its text; empty for any JSON object.
        strict_reply: whether its text must follow that schema.
        effort: how long the model should think, in the vendor's words; may be empty.
        verbosity: how long the answer should be, in the vendor's words; may be empty.
        top_logprobs: the alternatives that are reported for each token; None reports no probabilities.
        choices: the number of answers.
    """

    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    parallel_calls: bool = True
    reply_schema: Mapping[str, Any] | None = None
    top_logprobs: int | None = None
    choices: int = 1
    top_p: float | None = None
    strict_reply: bool = False
    effort: str = ""
    verbosity: str = ""


def usage_counts(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    """Return the usage of an answer by name, with its total."""
    total = prompt_tokens + completion_tokens
    return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}


@dataclass(frozen=True, kw_only=True)
class ModelMessage:
    """A message of a conversation.

    Attributes:
        role: ``system``, ``user``, ``assistant``, ``tool`` or a vendor's own; empty if the message has no role.
        content: a text, a list of parts, or None, unchanged.
        calls: the calls that the model asks for.
        call_id: the id of the call that this is the result of.
        reasoning: the reasoning that the model shows.
        refusal: the model's own words for a refusal.
        is_error: whether the result of a call is marked as an error, if the dialect has such a mark.
        source: the message in its dialect, with further fields; may be None.
    """

    role: str = "assistant"
    content: Any = None
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    reasoning: str = ""
    refusal: str = ""
    is_error: bool = False
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the content, one for each part that has one."""
        if isinstance(self.content, str):
            return (self.content,)
        found = []
        for part in self.content if isinstance(self.content, list) else ():
            kind = part.get("type", "text") if isinstance(part, dict) else None
            if isinstance(kind, str) and kind in TEXTS and isinstance(text := part.get("text"), str):
                found.append(text)
        return tuple(found)

    @property
    def text(self) -> str:
        """The text of the content, which may be empty."""
        return "".join(self.texts)


@dataclass(frozen=True, kw_only=True)
class ModelAnswer(ModelMessage):
    """A model's answer, read or to be written.

    Attributes:
        id: of the answer, not of its calls.
        created: seconds since 1970.
        finish_reason: ``stop``, ``tool_calls``, ``length``, ``content_filter`` or a vendor's own; None leaves the
            answer unfinished.
        usage: tokens by name, such as ``prompt_tokens`` and ``completion_tokens``; None if not reported.
        hidden_tokens: tokens of reasoning that was not sent. They were generated before the first token came.
        fingerprint: names the endpoint's setup; may be empty.
        logprobs: of the text's tokens, to be written; None if not reported.
        fields: further fields of the message, to be written, as vendors add them.
    """

    model: str = ""
    id: str = ""
    created: int = 1
    finish_reason: str | None = "stop"
    usage: Mapping[str, Any] | None = None
    hidden_tokens: int = 0
    fingerprint: str = ""
    logprobs: tuple[TokenLogprob, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """Return whether it has ended before it was complete."""
        return self.finish_reason is not None and self.finish_reason not in COMPLETE

    @classmethod
    def of(cls, said: ModelMessage, **own: Any) -> Self:
        """Return the answer with the content of a message.

        Args:
            own: fields of the answer, also in place of the message's.
        """
        return cls(**vars(said) | own)


@dataclass(eq=False, repr=False)
class ModelRequest(ABC):
    """A request to a model. Its parts are read from the document when they are asked for.

    Attributes:
        document: the request's body in its dialect, with unknown fields.
        unread: why the body is not a JSON object; empty if it is one.
        READ: the dialect's fields that are not settings.
    """

    document: Mapping[str, Any]
    unread: str = ""
    READ: ClassVar[frozenset[str]]

    @property
    def model(self) -> str:
        """The name of the model; empty if the request does not name one."""
        name = self.document.get("model")
        return name if isinstance(name, str) else ""

    @property
    def stream(self) -> bool:
        """Return whether the answer is requested as a stream of events."""
        return bool(self.document.get("stream"))

    @property
    def problem(self) -> str:
        """The reason why the request cannot be answered; empty if it can."""
        return self.unread or self._problem()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the tools on offer."""
        return frozenset(tool.name for tool in self.tools)

    @property
    def whole(self) -> Mapping[str, Any]:
        """The document with all of its conversation, even if its dialect lets the server keep a part of it."""
        return self.document

    @property
    def foreign(self) -> tuple[str, ...]:
        """The fields that no other dialect has, and that change the answer."""
        return ()

    @property
    def problem_code(self) -> str:
        """The dialect's own code of the problem, which may be empty."""
        return ""

    @property
    def conflict(self) -> str:
        """The reason why vendors refuse the request though it has the right form; empty if they do not."""
        return ""

    @property
    def is_continued(self) -> bool:
        """Return whether the conversation goes on after an answer of the model."""
        return any(message.role == "assistant" for message in self.messages)

    @cached_property
    @abstractmethod
    def messages(self) -> tuple[ModelMessage, ...]:
        """The conversation, instructions first."""

    @cached_property
    @abstractmethod
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools on offer; tools without a name are skipped."""

    @property
    @abstractmethod
    def tool_choice(self) -> ToolChoice:
        """Return whether the model may call them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The other fields, such as sampling settings, limits and vendors' fields, by the dialect's own names."""
        return {key: value for key, value in self.document.items() if key not in self.READ}

    @property
    def generation(self) -> GenerationConfig:
        """The settings that have the same meaning in every dialect."""
        return GenerationConfig()

    @property
    @abstractmethod
    def prompt(self) -> Mapping[str, Any]:
        """The conversation and the tools, which the model reads."""

    @property
    def wants_usage(self) -> bool:
        """Return whether a stream must end with the usage."""
        return True

    @abstractmethod
    def _problem(self) -> str:
        """Return why the document is not a request of the dialect; empty if it is."""
