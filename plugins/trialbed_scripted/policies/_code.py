"""Requests that offer tools as Python functions and want their calls in a block of code, as smolagents' CodeAgent."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trialbed.wire import Call, ModelMessage, ModelRequest, OfferedTool, lenient_json, written_calls
from trialbed_scripted._turns import ModelTurn

LONGEST = 400_000
"""Characters of a message that are read."""

PROMPTS = ("system", "developer")
"""Roles of instructions."""

OFFER = "behaving like regular python functions:\n<code>\n"
FINAL = "final_answer"
"""The function with which a block ends the run."""

HEAD = re.compile(r'^def (\w{1,127})\(([^\n]{0,20000})\) ->[^\n]{1,99}:\n *"""', re.MULTILINE)
PARAMETER = re.compile(r"(?:^|, )(\w{1,127}): ")
ABOUT_ARGUMENTS = "\n\n    Args:\n"
CALLED = re.compile(r"^print\((\w{1,127})\(", re.MULTILINE)
PRINTED = re.compile(r"Execution logs:\n(.*?)\n?(?:Last output from code snippet:\n|Call id: call_|\Z)", re.DOTALL)


@dataclass(frozen=True)
class CodeForm:
    """The form of a request that wants a block of code.

    Attributes:
        tools: those that the block may call.
        messages: the conversation, with the calls of each block and their results as such.
    """

    tools: tuple[OfferedTool, ...]
    messages: tuple[ModelMessage, ...]

    def fill(self, turn: ModelTurn, _first: ModelTurn | None = None) -> ModelTurn:
        """Return a turn as an answer in this form: its calls in one block, each printed, or its text as the end."""
        lines = [f"print({call.name}({_as_python(call.arguments)}))" for call in turn.calls]
        code = "\n".join(lines or [f"{FINAL}({turn.text!r})"])
        said = f"Thought: {(turn.calls and turn.text) or 'I write the code.'}\n<code>\n{code}\n</code>"
        return replace(turn, text=said, calls=()) if turn.calls or turn.text else turn


def read_code_form(request: ModelRequest) -> CodeForm | None:
    """Return the form of a request that wants a block of code; None if it wants none."""
    prompts = [message.text[:LONGEST] for message in request.messages if message.role in PROMPTS]
    _, _, offer = "".join(prompts).partition(OFFER)
    if not offer or request.tools:
        return None
    tools = [OfferedTool(name, about, _schema(given)) for name, given, about in _read_functions(offer) if name != FINAL]
    others = [message for message in request.messages if message.role not in PROMPTS]
    return CodeForm(tuple(tools), tuple(_read_blocks(others)))


def _read_functions(offer: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the parameters and the description of each function."""
    heads = [*HEAD.finditer(offer)]
    ends = [*(head.start() for head in heads[1:]), len(offer)]
    for head, end in zip(heads, ends, strict=True):
        about, closed, _ = offer[head.end() : end].partition('"""')
        if closed:
            yield head[1], head[2], about.rstrip(" ").removesuffix("\n").partition(ABOUT_ARGUMENTS)[0]


def _schema(signature: str) -> dict[str, object]:
    """Return a JSON Schema of parameters; their types are words for a model, and allow anything here."""
    return {"type": "object", "properties": {name: {} for name in PARAMETER.findall(signature)}}


def _as_python(arguments: str) -> str:
    """Return the arguments of a call as Python; those that are not a JSON object stay as they are written."""
    values = lenient_json(arguments)
    if not isinstance(values, dict):
        return f"**{arguments}"
    named = all(name.isidentifier() and not keyword.iskeyword(name) for name in values)
    return ", ".join(f"{name}={value!r}" for name, value in values.items()) if named else f"**{values!r}"


def _read_blocks(messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield the messages, those with blocks of code as calls, and the messages behind them as results."""
    calls: tuple[Call, ...] = ()
    for place, message in enumerate(messages):
        text = message.text[:LONGEST]
        if message.role != "assistant" and calls:
            logs = "".join(PRINTED.findall(text)[:1])
            results = [*(logs.splitlines() if len(calls) > 1 else [logs] * bool(logs)), *[text] * len(calls)]
            for call, result in zip(calls, results, strict=False):
                yield ModelMessage(role="tool", content=result, call_id=call.id, is_error=result is text)
            calls = ()
        else:
            code = text.partition("Calling tools:")[0] if message.role == "assistant" else ""
            found = written_calls(code, dict.fromkeys(CALLED.findall(code)))
            calls = tuple(Call(one.name, one.arguments, f"{place}_{number}") for number, one in enumerate(found))
            yield replace(message, calls=calls)
