"""The rows on what went over the wire: schemas, prompts, and many tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from trialbed.views import UNKNOWN, TableRow
from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.fidelity import Called, Effect, FrameworkFidelity, Prompt, ToolSchemas
from trialbed_adapter_lab.fidelity.views._cells import line, of, some, tally, value, with_added

EFFECTS: dict[Effect, str] = {
    "lost": "fields lost",
    "added": "fields added",
    "changed": "values changed",
    "renamed": "tool renamed",
    "missing": "tool not sent",
    "refused": "framework fails with it",
}
"""Effect on a schema -> its row."""

MESSAGES = ("added", "changed", "lost")


def schema_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield the effect on the hard schemas."""
    parts = [one.schemas for one in found]
    yield line("schemas sent as given", parts, lambda part: of(_with_effects(part), len(part.findings)))
    yield line("only order changed", parts, lambda part: some(_with_effects(part, "reordered")))
    for effect, label in EFFECTS.items():
        yield line(label, parts, partial(_count, effect=effect))
    yield line("order of the tools", parts, lambda part: part.order)
    yield line("added next to the schema", parts, _beside)
    yield line(
        "calls, arguments as sent",
        parts,
        lambda part: of(part.calls.count("as sent"), len(part.calls)) if part.calls else UNKNOWN,
    )
    yield line("calls, arguments changed", parts, lambda part: _calls(part, "changed"))
    yield line("… with values made up", parts, lambda part: some(sum(bool(one.invented) for one in part.findings)))
    yield line("calls not made", parts, lambda part: _calls(part, "not made"))
    yield line("calls made impossible", parts, lambda part: _calls(part, "impossible"))


def _with_effects(part: ToolSchemas, *effects: Effect) -> int:
    """Return the number of tools to which exactly this happened."""
    return sum(finding.effects == effects for finding in part.findings)


def _count(part: ToolSchemas, effect: Effect) -> str:
    return some(part.count(effect))


def _beside(part: ToolSchemas) -> str:
    return tally(f"{key}: {value(item)}" for finding in part.findings for key, item in finding.beside.items())


def _calls(part: ToolSchemas, fate: Called) -> str:
    return some(part.calls.count(fate)) if part.calls else UNKNOWN


def prompt_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield the additions to the prompt."""
    parts = [one.prompt for one in found]
    yield TableRow("dialect", tuple(map(_dialects, found)))
    for kind in MESSAGES:
        yield line(f"messages {kind} at first", parts, partial(_messages, kind=kind, first=True))
    for kind in MESSAGES:
        yield line(f"messages {kind} by the end", parts, partial(_messages, kind=kind, first=False))
    yield line("other tools than at first", parts, _other_tools)
    yield line("bytes, first request", parts, lambda part: with_added(*part.request_bytes(1)))
    yield line("bytes, all turns", parts, lambda part: with_added(*part.request_bytes()))
    yield line("tokens, first request", parts, lambda part: with_added(*part.prompt_tokens(1)))
    yield line("tokens, all turns", parts, lambda part: with_added(*part.prompt_tokens()))


def _dialects(one: FrameworkFidelity) -> str:
    """Return the dialects of the requests, and the one that the adapter declares where that is another."""
    if one.prompt is None:
        return UNKNOWN
    seen = ", ".join(one.prompt.dialects or (CHAT,))
    return seen if seen == one.dialect else f"{seen} (declared: {one.dialect})"


def _messages(part: Prompt, *, kind: str, first: bool) -> str:
    return tally(change.role for change in (part.first if first else part.last) if change.kind == kind)


def _other_tools(part: Prompt) -> str:
    return f"in request {', '.join(map(str, part.other_tools))}" if part.other_tools else "none"
