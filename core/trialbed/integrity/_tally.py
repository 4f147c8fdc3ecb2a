"""The integrity of a framework's row: findings on the wire that bear on whether its scores can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from trialbed.records import IntegrityFinding, IntegrityKind, RunConfig
from trialbed.texts import number_of

ANY = "*"
"""Stands for every model among those that a run allows."""

EXAMPLES = 3
"""Names of one kind that a line shows."""

MOST = 10
"""Names of one kind that are kept."""

WORDS: Mapping[IntegrityKind, tuple[str, str]] = MappingProxyType(
    {
        "other_model": ("request for another model refused", "requests for other models refused"),
        "other_model_answered": ("request answered by another model", "requests answered by other models"),
        "added_header": (
            "request with a header or a query that reaches no endpoint",
            "requests with headers or a query that reach no endpoint",
        ),
        "old_functions": (
            "request with the old fields functions or function_call, whose calls score nothing",
            "requests with the old fields functions or function_call, whose calls score nothing",
        ),
        "required_choice": ("request demands a call", "requests demand a call"),
        "forced_choice": ("request forces a call by name", "requests force a call by name"),
        "added_tool": ("tool on offer that is not the trial's", "tools on offer that are not the trial's"),
        "answer_key": (
            "expected value in a request, and in nothing of the trial before it",
            "expected values in a request, and in nothing of the trial before it",
        ),
        "forced_call": ("forced call, which scores nothing", "forced calls, which score nothing"),
        "dictated_call": (
            "call that the request had already, which scores nothing",
            "calls that the request had already, which score nothing",
        ),
        "changed_call": (
            "call with arguments that the model did not write, which scores nothing",
            "calls with arguments that the model did not write, which score nothing",
        ),
        "unasked_call": (
            "call in no answer of the model, which scores nothing",
            "calls in no answer of the model, which score nothing",
        ),
        "outside_clock": (
            "request outside of the agent's time, which counts as time",
            "requests outside of the agent's time, which count as time",
        ),
        "unwritten_answer": ("answer that the model never wrote", "answers that the model never wrote"),
        "unsourced_answer": (
            "answer without a source, which is Unsolved",
            "answers without a source, which are Unsolved",
        ),
        "invented_claim": ("claimed call that was never made", "claimed calls that were never made"),
    }
)
"""Kind -> words for one, and for several."""


@dataclass(frozen=True, slots=True)
class IntegrityTally:
    """The findings of one kind: how many, in how many trials, and the names in them."""

    count: int
    trials: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Integrity:
    """The integrity of one framework in one run.

    Attributes:
        trials: those that were looked at; 0 of a run that was stored before findings were.
        found: kind -> its tally, for the kinds that were found.
        void: why the row cannot be compared with others, so that no score of it is shown; empty where it can.
    """

    trials: int = 0
    found: Mapping[IntegrityKind, IntegrityTally] = field(default_factory=dict)
    void: str = ""

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind."""
        for kind, tally in self.found.items():
            trials = number_of(tally.trials, "trial")
            yield f"{tally.count:,} {WORDS[kind][tally.count != 1]}, in {trials}{_names(tally)}"


def finding_text(found: IntegrityFinding) -> str:
    """Return a finding on one trial in words."""
    return f"{found.count:,} {WORDS[found.kind][found.count != 1]}{_names(found)}"


def _names(found: IntegrityFinding | IntegrityTally) -> str:
    return f" ({', '.join(found.examples[:EXAMPLES])})" if found.examples else ""


def trial_findings(facts: Mapping[str, Any]) -> tuple[IntegrityFinding, ...] | None:
    """Return the findings among the facts of a stored trial; None where none were looked for."""
    found = facts.get("integrity")
    return None if found is None else tuple(IntegrityFinding.model_construct(**one) for one in found)


def framework_integrity(
    config: RunConfig, framework: str, trials: Iterable[Sequence[IntegrityFinding] | None]
) -> Integrity:
    """Sum up the findings of a framework's trials in a run; those of a trial are None where none were recorded.

    A row is void where a model answered that the run does not allow: its scores are then not those of the run's model.
    All else either scores nothing, or is a fact that readers judge. An agent that is an object of the caller's program
    may ask for any model.
    """
    looked_at = 0
    counts, in_trials = Counter[IntegrityKind](), Counter[IntegrityKind]()
    examples: dict[IntegrityKind, dict[str, None]] = {}
    for findings in trials:
        looked_at += findings is not None
        in_trials.update({found.kind for found in findings or ()})
        for found in findings or ():
            counts[found.kind] += found.count
            known = examples.setdefault(found.kind, {})
            for name in found.examples:
                if len(known) < MOST:
                    known[name] = None
    found_kinds = [kind for kind in WORDS if kind in in_trials]
    tallies = {kind: IntegrityTally(counts[kind], in_trials[kind], tuple(examples[kind])) for kind in found_kinds}
    others = tallies["other_model_answered"].examples if "other_model_answered" in tallies else ()
    foreign = [name for name in others if not {name, ANY} & {*config.allowed_models}]
    is_void = foreign and config.cell(framework).framework in config.adapter_versions
    return Integrity(
        looked_at, tallies, f"{', '.join(foreign)} answered in place of the run's model" if is_void else ""
    )
