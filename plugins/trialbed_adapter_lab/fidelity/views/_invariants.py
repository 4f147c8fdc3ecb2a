"""The rows on the kit's invariants in a framework's trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.texts import one_line
from trialbed.views import UNKNOWN, TableRow
from trialbed_adapter_lab.fidelity import FrameworkFidelity, InvariantFinding
from trialbed_adapter_lab.fidelity.views._cells import of

LONGEST = 200
"""Characters of a breach in a note."""

WORDS = {
    "keeps_prompt": "prompt and query in every request",
    "keeps_tools": "all tools in every request",
    "keeps_settings": "settings of every request",
    "only_grows": "conversation that only grows",
    "adds_its_turns": "turns added as they were said",
    "answers_calls": "results after their calls",
    "passes_results_on": "results to the character",
    "makes_the_calls_asked_for": "calls as the model wrote them",
    "answers_with_the_last_text": "answer is the model's last text",
    "asks_nothing_else": "no request for embeddings",
    "claims_its_calls": "claimed calls",
    "claims_its_responses": "claimed responses",
    "claims_its_turns": "claimed turns",
    "claims_its_usage": "claimed tokens",
}
"""The name of an invariant -> what holds, as far as the server's log shows it."""

HOW_TO_READ = (
    "Invariants are those of the conformance kit, looked at in every trial of the parts above, also where the model "
    "errs: “held in 60”, or the trials in which one was broken. A native profile may break them by design, as one does "
    "that repairs what a model wrote."
)


def invariant_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield a row for each invariant."""
    for name, words in WORDS.items():
        cells = (_cell(next((one for one in part.invariants or () if one.invariant == name), None)) for part in found)
        yield TableRow(words, tuple(cells))


def invariant_notes(framework: FrameworkFidelity) -> Iterator[str]:
    """Yield the first breach of each invariant that was broken."""
    for finding in framework.invariants or ():
        if finding.broken:
            yield f"{WORDS.get(finding.invariant, finding.invariant)}: {one_line(finding.first, LONGEST)}"


def _cell(finding: InvariantFinding | None) -> str:
    if finding is None:
        return UNKNOWN
    return f"broken in {of(finding.broken, finding.trials)}" if finding.broken else f"held in {finding.trials}"
