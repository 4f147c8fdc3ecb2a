"""Policies where tools are offered and called in words: in DSPy's marked fields, or as Python in blocks of code."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trialbed.wire import Call, ModelMessage, ModelRequest, OfferedTool, lenient_json, written_calls
from trialbed_scripted._scripts import ModelTurn, Response
from trialbed_scripted.schemas import filled_json

LONGEST = 400_000
"""Most characters of a message to read."""

PROMPTS = ("system", "developer")
"""Roles of instructions."""

OFFER = "behaving like regular python functions:\n<code>\n"
FINAL = "final_answer"
"""The function that a block calls to end the run."""

FUNCTION = re.compile(r'^def (\w{1,127})\(([^\n]{0,20000})\) ->[^\n]{1,99}:\n *"""', re.MULTILINE)
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
    tools = [
        OfferedTool(name, about, _signature_schema(given))
        for name, given, about in _read_functions(offer)
        if name != FINAL
    ]
    others = [message for message in request.messages if message.role not in PROMPTS]
    return CodeForm(tuple(tools), tuple(_read_blocks(others)))


def _read_functions(offer: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, parameters and description of each function."""
    heads = [*FUNCTION.finditer(offer)]
    ends = [*(head.start() for head in heads[1:]), len(offer)]
    for head, end in zip(heads, ends, strict=True):
        about, closed, _ = offer[head.end() : end].partition('"""')
        if closed:
            yield head[1], head[2], about.rstrip(" ").removesuffix("\n").partition(ABOUT_ARGUMENTS)[0]


def _signature_schema(signature: str) -> dict[str, object]:
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


LONGEST_ARGUMENTS = 20_000
"""Longest description of a tool's arguments, in characters."""

THOUGHT, NAME, ARGUMENTS = "next_thought", "next_tool_name", "next_tool_args"
"""The fields of a step: the reason, the tool, and its arguments."""

FINISH = "finish"
"""The tool that ends the steps."""

FAILED = "Execution error in "
"""The prefix of a failed call's result."""

TRAJECTORY = "trajectory"
"""The field with the earlier steps, which have their own fields."""

AGAIN = "\n\nRespond with "
HEAD = "Your output fields are:\n"
INTERACTIONS = "All interactions will be structured in the following way"
JSON = "Outputs will be a JSON object with the following fields."
MARK = re.compile(r"^\[\[ ## (\w{1,100}) ## \]\][ \t]*", re.MULTILINE)
OUTPUT = re.compile(r"^\d{1,3}\. `(\w{1,100})` \(", re.MULTILINE)
NOTE = re.compile(r"\{(\w{1,100})\} {8}# note: the value you produce ([^\n]{1,20000})")
TOOL = re.compile(r"[ \t]{0,40}\(\d{1,4}\) ([^\s,]{0,127}[^\s,.])(?=[,.])")
TAKES = ". It takes arguments "
DESCRIBED = ", whose description is <desc>"
STEP = re.compile(r"(tool_name|tool_args|observation)_(\d{1,6})")
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")


@dataclass(frozen=True)
class FieldForm:
    """The format that a request expects.

    Attributes:
        outputs: maps fields to the requirement for their value. An empty requirement allows any text.
        as_json: whether the answer is a JSON object with these fields.
        tools: the tools for a step, which may call one.
        messages: the question, and each earlier step as a call and a result.
    """

    outputs: Mapping[str, str]
    as_json: bool
    tools: tuple[OfferedTool, ...]
    messages: tuple[ModelMessage, ...]

    @property
    def is_step(self) -> bool:
        """Return whether the answer is a step."""
        return {NAME, ARGUMENTS} <= self.outputs.keys()

    @property
    def steps(self) -> int:
        """The number of earlier steps."""
        return sum(len(message.calls) for message in self.messages)

    def fill(self, turn: ModelTurn, first: ModelTurn | None = None) -> ModelTurn:
        """Write a turn in this format. A call becomes a step, and a text becomes the fields or the end of the steps.

        Args:
            first: the policy's turn before any step. Its calls are made one by one.
        """
        if self.is_step and first and len(first.calls) > 1 and self.steps < len(first.calls):
            place = slice(self.steps, self.steps + 1)
            turn = replace(first, calls=first.calls[place], played=first.played[place])
        text = turn.text or ""
        call = turn.calls[0] if turn.calls else Call(FINISH, "{}")
        if self.is_step:
            thought = f"I call {call.name}." if turn.calls else "I have all that I need."
            values = {**dict.fromkeys(self.outputs, thought), NAME: call.name, ARGUMENTS: call.arguments}
        else:
            values = {name: _value(text, wanted) for name, wanted in self.outputs.items()}
        return replace(turn, text=self._write(values), calls=())

    def _write(self, values: Mapping[str, str]) -> str:
        if self.as_json:
            written = {name: lenient_json(one, one) if self.outputs[name] else one for name, one in values.items()}
            return json.dumps(written, ensure_ascii=False)
        parts = [f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()]
        return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def read_form(request: ModelRequest) -> FieldForm | CodeForm | None:
    """Return the format that a request expects for its answer, if it describes one."""
    return read_code_form(request) or _read_field_form(request)


def _read_field_form(request: ModelRequest) -> FieldForm | None:
    system = next((one.text[:LONGEST] for one in request.messages if one.role in ("system", "developer")), "")
    before, _, after = system.partition(HEAD)
    fields, found, structure = after.partition(INTERACTIONS)
    if not before or not found or request.tools:
        return None
    notes = dict(NOTE.findall(structure.replace('\\"', '"')))
    outputs = {name: notes.get(name, "").rstrip('",') for name in OUTPUT.findall(fields)}
    asked = request.messages[-1].text
    if not outputs:
        return None
    return FieldForm(
        outputs=outputs,
        as_json=JSON in structure,
        tools=tuple(_read_tools(structure)) if {NAME, ARGUMENTS} <= outputs.keys() else (),
        messages=tuple(_read_steps(asked[:LONGEST])),
    )


def in_calls(request: ModelRequest) -> ModelRequest:
    """Return a request with the tools and calls in its text as real tools and calls. Others stay unchanged."""
    form = read_form(request)
    if form is None:
        return request
    system = [message for message in request.messages if message.role in ("system", "developer")]
    read = replace(request)
    # Values that are set here are not read from the document.
    vars(read).update(tools=form.tools, messages=(*system, *form.messages))
    return read


class FieldSpeaker:
    """Says turns in the format of a conversation, with one call per step and a text as the end of the steps."""

    def __init__(self) -> None:
        self._held: list[ModelTurn] = []

    async def say(
        self, request: ModelRequest, take_turn: Callable[[], Awaitable[ModelTurn | Response]]
    ) -> tuple[ModelTurn | Response, ModelTurn | None]:
        """Return the answer to a request with its turn, or a response without a turn.

        Args:
            take_turn: returns the next turn. It is called when the last turn is complete.
        """
        form = read_form(request)
        turn = self._held.pop(0) if self._held and form is not None else await take_turn()
        if isinstance(turn, Response):
            return turn, None
        if form is None:
            return turn, turn
        if isinstance(form, FieldForm) and form.is_step:
            # The framework asks for the final text again as the answer.
            self._held = [replace(turn, calls=(call,)) for call in turn.calls[1:]] if turn.calls else [turn]
            turn = replace(turn, calls=turn.calls[:1])
        return form.fill(turn), turn


def _read_tools(text: str) -> Iterator[OfferedTool]:
    for line in text.splitlines():
        match = TOOL.match(line)
        described, takes, arguments = line.rstrip().rpartition(TAKES)
        if match is not None and takes and match[1] != FINISH:
            about = described[match.end() :].removeprefix(DESCRIBED).removesuffix("</desc>")
            yield OfferedTool(match[1], about, _schema(arguments.removesuffix(".")))


def _schema(written: str) -> Mapping[str, Any]:
    """Return the JSON Schema of arguments written as a Python mapping, or a schema that allows anything."""
    try:
        found = ast.literal_eval(written) if len(written) <= LONGEST_ARGUMENTS else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return {}
    required = [name for name, one in found.items() if not (isinstance(one, dict) and "default" in one)]
    return {"type": "object", "properties": found, "required": required}


def _read_steps(text: str) -> Iterator[ModelMessage]:
    """Yield the question, and the call and result of each step except the final one."""
    marks = list(MARK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    sections = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    if sections:
        # The format of the answer is repeated at the end.
        name, last = sections[-1]
        sections[-1] = name, last.rpartition(AGAIN)[0] or last
    steps: dict[str, dict[str, str]] = {}
    question = []
    for name, said in sections:
        if match := STEP.fullmatch(name):
            steps.setdefault(match[2], {})[match[1]] = said
        elif name != TRAJECTORY:
            question.append(said)
    yield ModelMessage(role="user", content="\n".join(question))
    for place, step in steps.items():
        name = step.get("tool_name", "")
        if name != FINISH:
            result = step.get("observation", "")
            yield ModelMessage(calls=(Call(name, step.get("tool_args", ""), place),))
            yield ModelMessage(role="tool", content=result, call_id=place, is_error=result.startswith(FAILED))


def _value(text: str, wanted: str) -> str:
    """Return a valid value for a field, as close to a text as possible."""
    _, has_schema, schema = wanted.partition("JSON schema: ")
    if has_schema:
        return filled_json(lenient_json(schema, schema), text)
    # This comes before the types below, since the values may contain their names.
    _, several, values = wanted.partition("one of: ")
    if several:
        return next((one for one in values.split("; ") if one in text), values.split("; ")[0])
    if "float" in wanted or "int" in wanted:
        found = NUMBER.search(text)
        return found[0].partition("." if "int" in wanted else " ")[0] if found else "0"
    return "True" if "True or False" in wanted else text
