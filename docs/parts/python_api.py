"""Write the page of the Python API with functions, hooks, contracts, errors and records."""

from __future__ import annotations

import configparser
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import trialbed
import trialbed_adapter_lab
import trialbed_scripted
from parts.markdown import docstring, first_paragraph, table
from trialbed import contracts, conversations, errors, hookspecs, metrics, views, wire
from trialbed.drivers import GROUPS
from trialbed.wire.dialects import chat_completions

SETUP = Path(__file__).parents[2] / "setup.cfg"

PAGE = """\
# Python API

```python
import trialbed

report = trialbed.evaluate("reference", "mini", limit=3)
print(report["reference"].scores["sopr_score"].value)
```

Public are the names of `trialbed`, `trialbed.wire`, `trialbed.metrics`, `trialbed.conversations`, the hooks, the
entry-point groups, the commands and the keys of the result document. They follow semantic versioning; everything else
may change in any release. The package is fully typed.

## Evaluate agents

[Evaluate in Python](../how-to/evaluate-in-python.md) has examples. `aevaluate` and `arun_benchmark` are the same
functions for code in an event loop.

{evaluating}

## Read runs and trials

```python
from trialbed import open_store

with open_store() as store:
    for run in store.runs(framework="langgraph", status="finished"):
        for trial in run.trials(failed=False):
            print(run.run_id, trial.key.query_id, trial.score("sopr_score").value)
            for call in trial.wire.model_calls:
                print(call.request, call.response)
```

Runs come latest first. `run.trials()` has the attempt that counts, `run.attempts()` all of them. Reading changes
nothing, and a run in progress shows what has been committed. `read_report(open_run("latest"))` of `trialbed.report`
makes a `Report`: `report["langgraph"]` is a framework's `Summary` with `counts`,
`scores` (each with `value`, `interval`, `denominator`), `failures`, `tokens`, `times`, `comparisons` and `attribution`.

{reading}

## Hooks

A hook is an event with any number of listeners. A listener is a function marked with `trialbed.hookimpl` in a module
of the entry-point group `trialbed.plugins`; it takes any of the hook's arguments by name. Arguments are frozen records,
and new fields may be added. An exception in `score_trial` becomes a failed score `{{plugin}}:failed`, other exceptions
are logged. Plugins that cannot be loaded are skipped with a warning. Scorers of other distributions run in
[a process of their own](../explanation/security.md). [Write a plugin](../how-to/write-a-plugin.md) shows complete ones.

{hooks}

## Drivers

A driver is chosen by name and found through entry points. `trialbed.distributions` is another group, in which an
adapter declares the distributions of its framework.

{drivers}

## Contracts

{contracts}

## Errors

{errors}

## What an agent returns

| value | read as |
| --- | --- |
| a text, or `{{"answer": "text"}}` | the answer; beginning with `GIVE_UP` it gives up, empty it did not finish |
| an object or mapping with `text`, `content`, `output`, `final_output`, or `messages` | that text, or the last one |
| nothing | an empty text: not finished |
| `trialbed.Answer(…)`, or a mapping with its fields | the answer with its claims; `finish=None` means not finished |
| a mapping with `answer` and `called_apis`, as below | StableToolBench's form; finished only with a node `Finish` |

```python
{{
    "answer": {{
        "final_answer": "It is 23.8 degrees.",
        "answer_details": [
            {{
                "role": "tool",
                "message": '{{"name": "Weather_now", "arguments": {{}}, "response": "23.8"}}',
                "next": [],
            }},
            {{
                "role": "tool",
                "message": '{{"name": "Finish", "arguments": {{"return_type": "give_answer", "final_answer": ""}}}}',
                "next": [],
            }},
        ],
    }},
    "called_apis": [["Weather", "now"]],
}}
```

The `return_type` of `Finish` is `give_answer` or `give_up_and_restart`. Claims are optional. Anything malformed fails
the trial with kind `answer` and the place.

## Records

Records are frozen. Those of pydantic are changed with `model_copy(update=…)` and written with `model_dump_json()`,
the others with `dataclasses.replace`. Fields in bold are required. The others have the default that is shown, else
None, False, 0 or an empty value.

{records}

## Other names of trialbed

{names}

## trialbed.wire

`trialbed.wire` reads and writes requests and answers of models. `trialbed.wire.dialects.dialect(name)` is the module of
a [dialect](protocols.md#dialects).

```python
from trialbed import wire
from trialbed.wire.dialects import chat_completions

body = b'{{"choices": [{{"message": {{"role": "assistant", "content": "hi"}}, "finish_reason": "stop"}}]}}'
reading = chat_completions.read_body(body)
assert (reading.outcome, reading.answer.text) == ("stop", "hi")
schemas = {{"look": {{"type": "object", "properties": {{"city": {{"type": "string"}}}}}}}}
(call,) = wire.written_calls('<tool_call>{{"name": "look", "arguments": {{"city": "Oslo"}}}}', schemas)
assert call.is_made
```

{wire}

In each dialect, such as `chat_completions`:

{dialect}

## trialbed.metrics

{metrics}

## trialbed.conversations

{conversations}

## trialbed_scripted

{scripted}

## trialbed_adapter_lab

{kit}
"""

CONSTANTS = {
    "AnswerStatus": "How a judge finds an answer: `Solved`, `Unsure` or `Unsolved`.",
    "Cause": "Whose fault a failed request to the gateway is; see `ModelCall`.",
    "ObservedIn": "Where a call was seen: at Trialbed's server, or in the conversation.",
    "FailureKind": "The [kinds of failures](errors.md#failures) of a trial or a score.",
    "Finish": "How an agent ended: `give_answer` or `give_up_and_restart`.",
    "IntegrityKind": "What a finding of a trial's integrity is about.",
    "Json": "A JSON value.",
    "LimitName": "`max_steps`, `max_trial_tokens` or `timeout`.",
    "LossReason": "Why a scripted model could not make a call; see `LostCall`.",
    "RunKind": "The subjects of a run: `frameworks` or `endpoints`.",
    "RunStatus": "`running`, `interrupted`, `incomplete` or `finished`.",
    "SYSTEM_PROMPT": "The system prompt of every trial.",
    "TrialStatus": "`answered`, `failed` or `not measured`.",
    "hookimpl": "Marks an implementation of a hook.",
    "AFTER_THE_END": "The text of a model that is asked more often than its script has lines.",
    "ANSWERED": "The outcomes that are answers.",
    "DONE_EVENT": "The event that ends a stream.",
    "FAULTS": "The [faults](verification.md#faults) by name.",
    "FORMATS": "Every format that is recognised, with its meaning.",
    "Line": "The type of a line of a script.",
    "METRICS": "Every metric, with its meaning.",
    "NAME": "The dialect's name.",
    "Outcome": "The type of an outcome.",
    "POLICIES": "The policies by name.",
    "PATH": "The path of its requests, below `/v1`.",
    "RULES": "Every rule for arguments, with its meaning.",
    "Reference": "The type of expected calls, with sequences as parallel groups.",
    "Role": "The type of a message's role.",
    "StepModel": "The type of a model that answers steps.",
    "TRANSIENT": "HTTP statuses after which a request may be repeated.",
    "TokenLogprob": "A token with its log probability.",
    "USAGE": "The tokens that a turn reports unless it says otherwise.",
    "CHECKS": "Every check: the probes that demand something.",
    "PROBES": "Every probe, in the order in which they run.",
    "LEVELS": "The levels of checks, the strictest first.",
    "Level": "The type of a check's level.",
}
"""Public names without a docstring."""

CHOSEN_BY = {
    "frameworks": '`--framework`; contract `BaseAgent`, `contract = "3"`',
    "models": "`--model SCHEME:NAME`; `ModelDriver`, which may still change",
    "datasets": "`--dataset`; `DatasetDriver` and `Dataset`",
    "selectors": "`--selector`; `ToolSelector`",
    "simulators": "the dataset, or `bench serve --simulator`; `Simulator`",
    "executors": "`--executor`; `Executor`",
    "vendors": "a vendor's name in the configuration of `bench verify`; `Vendor`",
    "model_adapters": "`bench verify --model-type`; `ModelAdapter`",
    "judges": "`--judge`, where any other text is a model for the judge `llm`; `Judge`",
    "reporters": "`--format`; `Reporter`",
    "comparers": "`bench compare`, which asks each; `Comparer`",
    "commands": "`bench NAME`; a click command",
    "components": "core alone",
}
"""Kind of driver -> who chooses it, and its contract."""

WHOLE = (trialbed.Task, trialbed.ScoreContext)
"""Records that are described in full before the others."""

PLAIN = (
    *(trialbed.RunConfig, trialbed.RunCell, trialbed.HelperUse, trialbed.ModelUse, trialbed.TokenRate),
    *(getattr(views, name) for name in views.__all__),
)
"""Records with fields that need no more than names and types; a run's fields are settings of ``bench run``."""

LISTED = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*)")
BLOCK = re.compile(r"^(Attributes|Args):$")
EMPTY = ("None", "False", "0", "0.0", "''", "()", "{}")
"""Defaults that are not shown."""

CHECKED = "Annotated["
"""Begins the type of a field that is also checked in another way."""


def python_page() -> str:
    """Return the page."""
    return PAGE.format(
        evaluating="\n\n".join(
            [
                _manual(trialbed.evaluate),
                _class(trialbed.Task, whole=True),
                *map(_manual, (trialbed.call, trialbed.scorer)),
                _class(trialbed.ScoreContext, whole=True),
                _manual(trialbed.run_benchmark),
            ]
        ),
        reading="\n\n".join(
            [_manual(trialbed.open_store)] + [_class(item) for item in (trialbed.StoreReader, trialbed.StoredRun)]
        ),
        hooks="\n\n".join(_manual(getattr(hookspecs, name)) for name in _hook_names()),
        drivers=_drivers(),
        contracts="\n\n".join(map(_class, contract_classes())),
        errors=_errors(),
        records="\n\n".join(_record(item) for item in public_records() if item not in WHOLE),
        names=_names(trialbed, apart={item.__name__ for item in (*public_records(), *contract_classes())}),
        wire=_names(wire),
        dialect=_names(chat_completions),
        metrics=_names(metrics),
        conversations=_names(conversations),
        scripted=_names(trialbed_scripted),
        kit=_names(trialbed_adapter_lab),
    )


def contract_classes() -> list[type]:
    """Return the contracts of drivers."""
    classes = [getattr(contracts, name) for name in contracts.__all__]
    classes = [item for item in classes if inspect.isclass(item)]
    return [item for item in classes if inspect.isabstract(item) or item is contracts.Vendor]


def public_records() -> list[type]:
    """Return every public record that has fields, once even if several modules have it, sorted by name."""
    items = [getattr(module, name) for module in (trialbed, contracts, views) for name in module.__all__]
    found = {item.__name__: item for item in items if _is_record(item) and any(_fields(item))}
    return [item for _, item in sorted(found.items())]


def _is_record(item: Any) -> bool:
    return inspect.isclass(item) and (issubclass(item, BaseModel) or dataclasses.is_dataclass(item))


def _hook_names() -> Iterator[str]:
    source = inspect.getsource(hookspecs).splitlines()
    for number, line in enumerate(source):
        if line == "@hookspec":
            yield source[number + 1].split("(")[0].removeprefix("def ")


def _drivers() -> str:
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    groups = setup["options.entry_points"]
    rows = [
        (
            f"`{group}`",
            CHOSEN_BY[kind],
            ", ".join(f"`{line.split('=')[0].strip()}`" for line in groups.get(group, "").strip().splitlines()),
        )
        for kind, group in GROUPS.items()
    ]
    return table(("entry-point group", "chosen by; contract", "included"), rows)


def _errors() -> str:
    """Return the error tree, then each error with its exit code."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("::\n")[1].split("\nThe text")[0]
    drawing = "\n".join(line.removeprefix("    ") for line in tree.strip("\n").splitlines())
    rows = [
        (f"`{name}`", str(getattr(errors, name).exit_code), first_paragraph(getattr(errors, name)))
        for name in errors.__all__
    ]
    return f"```text\n{drawing.rstrip()}\n```\n\n" + table(("error", "exit code", "meaning"), rows)


def _names(module: ModuleType, apart: Iterable[str] = ()) -> str:
    """Return a module's names, each with its first sentence, without names that are described elsewhere."""
    return "\n".join(
        f"- `{name}`: {CONSTANTS.get(name) or _sentence(first_paragraph(getattr(module, name)))}"
        for name in module.__all__
        if name not in apart
    )


def _sentence(text: str) -> str:
    """Return the first sentence of a text for a cell of a table, as a line."""
    text = text.replace("\\|", "|")
    return re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(";.") + "." if text else ""


def _class(item: type, whole: bool = False) -> str:
    """Return a class with its methods and properties; with the whole of its docstring, or its first sentence."""
    lines = [f"### {item.__name__}", "", docstring(item) if whole else first_paragraph(item), ""]
    for name, member in vars(item).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_"):
            continue
        if isinstance(member, (property, cached_property)):
            lines.append(f"- `{name}`: {_sentence(first_paragraph(member))}")
        elif inspect.isfunction(inspect.unwrap(function)):
            kind = "async " if inspect.iscoroutinefunction(function) else ""
            must = " (required)" if getattr(member, "__isabstractmethod__", False) else ""
            lines.append(f"- `{kind}{name}{_signature(function)}`{must}: {_sentence(first_paragraph(function))}")
    return "\n".join(lines).rstrip()


def _manual(function: Callable[..., Any]) -> str:
    """Return a function with the whole of its docstring."""
    name = function.__name__
    return f"### {name}\n\n```python\n{_header(name, function)}\n```\n\n{docstring(function)}"


def _header(name: str, function: Callable[..., Any]) -> str:
    whole = f"{name}{_signature(function)}"
    if len(whole) <= 100:
        return whole
    inner, _, result = _signature(function)[1:].rpartition(")")
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", inner) if part.strip()]
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def _signature(function: Callable[..., Any]) -> str:
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


def _record(item: type) -> str:
    """Return a record's meaning and its fields; fields without words share a line."""
    meanings = {} if item in PLAIN else dict(_meanings(item))
    lines = [f"### {item.__name__}", "", _sentence(first_paragraph(item)), ""]
    plain = []
    for name, default in _fields(item):
        shown = f"`{name}: {_annotation(item, name)}{'' if default in (None, *EMPTY) else f' = {default}'}`"
        shown = f"**{shown}**" if default is None else shown
        if meaning := _sentence(meanings.get(name, "").replace("``", "`")):
            lines.append(f"- {shown}: {meaning}")
        else:
            plain.append(shown)
    return "\n".join([*lines, f"- {', '.join(plain)}"] if plain else lines)


def _fields(item: type) -> Iterator[tuple[str, str | None]]:
    """Yield name and default of each field; None for a field that must be given."""
    if issubclass(item, BaseModel):
        for name, field in item.model_fields.items():
            missing = field.is_required()
            yield name, None if missing else _default(field.default, field.default_factory, PydanticUndefined)
    else:
        for entry in dataclasses.fields(item):  # type: ignore[arg-type] # it is a dataclass
            if entry.init and not entry.name.startswith("_"):
                yield entry.name, _default(entry.default, entry.default_factory, dataclasses.MISSING)


def _default(value: Any, factory: Any, missing: Any) -> str | None:
    if factory is not None and factory is not missing:
        return "{}" if factory is dict else "()" if factory is tuple else "…"
    return None if value is missing else repr(value)


def _annotation(item: type, name: str) -> str:
    """Return the type of a field as written in its source, without parts that only check it."""
    found = next(kind.__annotations__[name] for kind in item.__mro__ if name in vars(kind).get("__annotations__", {}))
    text = found if isinstance(found, str) else inspect.formatannotation(found)
    plain = " ".join(text.split())
    return plain.removeprefix(CHECKED).partition(",")[0] if plain.startswith(CHECKED) else plain


def _meanings(item: type) -> Iterator[tuple[str, str]]:
    """Yield each field that a docstring explains, with the explanation; a subclass's explanation comes last."""
    for kind in reversed(item.__mro__):
        names: list[str] = []
        text, is_inside = "", False
        for line in [*inspect.cleandoc(vars(kind).get("__doc__") or "").splitlines(), ""]:
            listed = LISTED.match(line) if is_inside else None
            if listed or not line.startswith("     "):
                yield from ((name, text) for name in names)
                names, text = (listed["names"].split(", "), listed["text"]) if listed else ([], "")
            else:
                text += f" {line.strip()}"
            if line and not line.startswith(" "):
                is_inside = bool(BLOCK.match(line))
