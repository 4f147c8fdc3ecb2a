"""The integrity of a framework's row, from findings on the wire that affect whether its scores can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trialbed.records import IntegrityFinding, IntegrityKind, RunConfig
from trialbed.texts import number_of

ANY = "*"
"""Stands for every model in the list of allowed models."""

EXAMPLES = 3
"""Names of one kind that a line shows."""

MOST = 10
"""Names of one kind that are kept."""

WORDS: Mapping[IntegrityKind, tuple[str, str]] = {
    "other_model": ("request", "for another model, refused"),
    "other_model_answered": ("request", "answered by another model"),
    "added_header": ("request", "with a header or a query that reaches no endpoint"),
    "old_functions": ("request", "with the old fields functions or function_call, whose calls are not scored"),
    "required_choice": ("request", "with a demand for a call"),
    "forced_choice": ("request", "with a call forced by its name"),
    "added_tool": ("tool", "on offer besides the trial's"),
    "answer_key": ("expected value", "in a request, and in nothing of the trial before it"),
    "forced_call": ("call", "forced by the request, not scored"),
    "dictated_call": ("call", "that the request had already, not scored"),
    "changed_call": ("call", "with arguments that the model did not write, not scored"),
    "unasked_call": ("call", "in no answer of the model, not scored"),
    "invented_call": ("call", "written into the conversation by the agent, not scored"),
    "outside_clock": ("request", "outside of the agent's time, added to its time"),
    "unwritten_answer": ("answer", "that the model never wrote"),
    "unsourced_answer": ("answer", "without a source, graded Unsolved"),
    "invented_claim": ("claimed call", "never made"),
}
"""Kind -> a noun that is counted, and the words behind it."""


@dataclass(frozen=True, slots=True)
class IntegrityTally:
    """The findings of one kind, with their number, the number of trials, and the names in them."""

    count: int
    trials: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Integrity:
    """The integrity of one framework in one run.

    Attributes:
        trials: how many were checked; 0 in a run that was stored before findings existed.
        found: kind -> its tally, for the kinds that were found.
        void: why the row cannot be compared with others; its scores are then hidden. Empty if it can.
    """

    trials: int = 0
    found: Mapping[IntegrityKind, IntegrityTally] = field(default_factory=dict)
    void: str = ""

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind."""
        for kind, tally in self.found.items():
            yield _line(kind, tally, f", in {number_of(tally.trials, 'trial')}")


def finding_text(found: IntegrityFinding) -> str:
    """Return a finding on one trial in words."""
    return _line(found.kind, found)


def _line(kind: IntegrityKind, found: IntegrityFinding | IntegrityTally, trials: str = "") -> str:
    noun, words = WORDS[kind]
    names = f" ({', '.join(found.examples[:EXAMPLES])})" if found.examples else ""
    return f"{number_of(found.count, noun)} {words}{trials}{names}"


def framework_integrity(config: RunConfig, framework: str, facts: Iterable[Mapping[str, Any]]) -> Integrity:
    """Sum up the findings of a framework's trials in a run.

    A row is void if a model answered that the run does not allow, because its scores are then not the run's model's.
    Other findings either score nothing, or are facts for readers to judge. An agent that is an object of the caller's
    program may ask for any model.

    Args:
        facts: the stored facts of every trial; without ``integrity`` if the trial was not checked.
    """
    trials = [one["integrity"] for one in facts if one.get("integrity") is not None]
    every = [found for findings in trials for found in findings]  # of each kind, a trial has one at most
    tallies: dict[IntegrityKind, IntegrityTally] = {}
    for kind in WORDS:
        if own := [found for found in every if found["kind"] == kind]:
            names = dict.fromkeys(name for found in own for name in found["examples"])
            tallies[kind] = IntegrityTally(sum(found["count"] for found in own), len(own), tuple(names)[:MOST])
    others = tallies["other_model_answered"].examples if "other_model_answered" in tallies else ()
    foreign = [name for name in others if not {name, ANY} & {*config.allowed_models}]
    is_void = foreign and config.cell(framework).framework in config.adapter_versions
    return Integrity(
        len(trials), tallies, f"{', '.join(foreign)} answered in place of the run's model" if is_void else ""
    )
