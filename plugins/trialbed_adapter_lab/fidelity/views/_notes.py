"""Notes on fidelity figures: their basis, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed.texts import one_line
from trialbed.views import UNKNOWN
from trialbed_adapter_lab.fidelity import (
    Behaviour,
    Conditions,
    Difference,
    FidelityReport,
    FrameworkFidelity,
    MessageChange,
    Prompt,
)
from trialbed_adapter_lab.fidelity.views import _invariants
from trialbed_adapter_lab.fidelity.views._cells import value
from trialbed_adapter_lab.fidelity.views._errors import HOW_TO_READ

LONGEST = 300
"""Characters of a message or a reason that a note shows."""


def heading(conditions: Conditions) -> str:
    """Return the time, the machine and the versions of a measurement."""
    return (
        f"Measured {conditions.measured_at:%Y-%m-%d %H:%M} UTC in {conditions.seconds:.0f} s, with Trialbed "
        f"{conditions.trialbed} on Python {conditions.python}; {conditions.system}, {conditions.cores} cores."
    )


def notes(report: FidelityReport) -> Iterator[str]:
    """Yield notes on how to read the figures, and on the details behind some of them."""
    yield (
        "The reference is the simplest correct loop and serves as the baseline; it got the same traffic. "
        "Tokens are an estimate: one token per 4 bytes. "
        f"{UNKNOWN} means not observed."
    )
    if "errors" in report.conditions.parts:
        yield HOW_TO_READ
    if any(one.invariants is not None for one in report.frameworks):
        yield _invariants.HOW_TO_READ
    for framework in report.frameworks:
        for note in _own(framework):
            yield f"{framework.framework}: {note}"


def _own(framework: FrameworkFidelity) -> Iterator[str]:
    for text in framework.declared:
        yield f"its adapter declares: {text}"
    for missing in framework.missing:
        yield f"{missing.part or 'everything'} could not be measured: {_cut(missing.reason)}"
    if framework.schemas is not None:
        for finding in framework.schemas.findings:
            if finding.reason:
                yield f"with the tool {finding.name}: {_cut(finding.reason)}"
    if framework.prompt is not None:
        yield from dict.fromkeys(_prompt(framework.prompt))
    if framework.behaviour is not None:
        yield from _behaviour(framework.behaviour)
    yield from _invariants.invariant_notes(framework)


def _prompt(found: Prompt) -> Iterator[str]:
    """Yield every change of a message, those of the first request once only, though later requests repeat them."""
    known = {(change.kind, change.index) for change in found.first}
    for change in found.first:
        yield f"first request, {_message(change)}"
    for change in found.last:
        if (change.kind, change.index) not in known:
            yield f"later requests, {_message(change)}"


def _message(change: MessageChange) -> str:
    if change.kind == "changed":
        return f"{change.role} message changed: {'; '.join(map(_difference, change.differences))}"
    content = change.message.get("content") if isinstance(change.message, dict) else change.message
    return f"{change.role} message {change.kind}: {_cut(str(content))}"


def _difference(difference: Difference) -> str:
    place = f"{difference.pointer or '/'} {difference.kind}"
    if difference.kind == "changed":
        before, after = difference.given, difference.sent
        if isinstance(before, str) and isinstance(after, str) and before and before in after:
            return f"{place}, {value(after.replace(before, '…'))} was added around it"
        return f"{place} from {value(before)} to {value(after)}"
    return f"{place}: {value(difference.sent if difference.kind == 'added' else difference.given)}"


def _behaviour(found: Behaviour) -> Iterator[str]:
    for policy in found.turns:
        if policy.ended or policy.reason:
            yield f"scripted:{policy.policy}: {_cut(policy.ended or policy.reason)}"
    for refusal in found.refusals:
        if refusal.reason:
            yield f"status {refusal.policy}: {_cut(refusal.reason)}"
    if found.settings_reason:
        yield f"settings could not be determined: {_cut(found.settings_reason)}"
    if found.parallel.ended:
        yield f"parallel calls: {_cut(found.parallel.ended)}"
    if found.step_limit.ended:
        yield f"at the step limit: {_cut(found.step_limit.ended)}"
    if found.step_limit.answered:
        yield "at the step limit it gave an answer, although the model gave none"


def _cut(text: str) -> str:
    return one_line(text, LONGEST)
