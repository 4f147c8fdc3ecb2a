"""Requests that offer tools as Python functions and expect calls in a code block, like smolagents' CodeAgent."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trialbed.wire import Call, ModelMessage, ModelRequest, OfferedTool, lenient_json, written_calls
from trialbed_scripted._turns import ModelTurn

LONGEST = 400_000
"""Most characters of a message to read."""

PROMPTS = ("system", "developer")
"""Roles of instructions."""

OFFER = "behaving like regular python functions:\n<code>\n"
FINAL = "final_answer"
"""The function that a block calls to end the run."""

HEAD = re.compile(r'^def (\w{1,127})\(([^\n]{0,20000})\) ->[^\n]{1,99}:\n *"""', re.MULTILINE)
PARAMETER = re.compile(r"(?:^|, )(\w{1,127}): ")
ABOUT_ARGUMENTS = "\n\n    Args:\n"
CALLED = re.compile(r"^print\((\w{1,127})\(", re.MULTILINE)
PRINTED = re.compile(r"Execution logs:\n(.*?)\n?(?:Last output from code snippet:\n|Call id: call_|\Z)", re.DOTALL)


@dataclass(frozen=True)
class CodeForm:
    """The format of a request that expects a code block.

    Attributes:
        tools: the tools that the block may call.
        messages: the conversation, with each block and its output as calls and results.
    """

    tools: tuple[OfferedTool, ...]
    messages: tuple[ModelMessage, ...]

    def fill(self, turn: ModelTurn, _first: ModelTurn | None = None) -> ModelTurn:
        """Write a turn in this format. Its calls are printed in one block, or else its text ends the run."""
        lines = [f"print({call.name}({_as_python(call.arguments)}))" for call in turn.calls]
        code = "\n".join(lines or [f"{FINAL}({turn.text!r})"])
        said = f"Thought: {(turn.calls and turn.text) or 'I write the code.'}\n<code>\n{code}\n</code>"
        return replace(turn, text=said, calls=()) if turn.calls or turn.text else turn


def read_code_form(request: ModelRequest) -> CodeForm | None:
    """Return the format of a request that expects a code block. Returns None for other requests."""
    prompts = [message.text[:LONGEST] for message in request.messages if message.role in PROMPTS]
    _, _, offer = "".join(prompts).partition(OFFER)
    if not offer or request.tools:
        return None
    tools = [OfferedTool(name, about, _schema(given)) for name, given, about in _read_functions(offer) if name != FINAL]
    others = [message for message in request.messages if message.role not in PROMPTS]
    return CodeForm(tuple(tools), tuple(_read_blocks(others)))


def _read_functions(offer: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, parameters and description of each function."""
    heads = [*HEAD.finditer(offer)]
    ends = [*(head.start() for head in heads[1:]), len(offer)]
    for head, end in zip(heads, ends, strict=True):
        about, closed, _ = offer[head.end() : end].partition('"""')
        if closed:
            yield head[1], head[2], about.rstrip(" ").removesuffix("\n").partition(ABOUT_ARGUMENTS)[0]


def _schema(signature: str) -> dict[str, object]:
    """Return a JSON Schema of parameters. Their types are descriptions for a model, so any value is valid."""
    return {"type": "object", "properties": {name: {} for name in PARAMETER.findall(signature)}}


def _as_python(arguments: str) -> str:
    """Return the arguments of a call as Python. Anything but a JSON object stays unchanged."""
    values = lenient_json(arguments)
    if not isinstance(values, dict):
        return f"**{arguments}"
    named = all(name.isidentifier() and not keyword.iskeyword(name) for name in values)
    return ", ".join(f"{name}={value!r}" for name, value in values.items()) if named else f"**{values!r}"


def _read_blocks(messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield the messages, with code blocks as calls and the following messages as results."""
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
