"""The title and the first sentences of published results: the outcome, how sure it is, and each verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.report import fault_note, percent, points
from trialbed.scoring import JUDGED
from trialbed.texts import number_of
from trialbed.views import compact
from trialbed_pages.publishing._figures import TOKENS, mean_of
from trialbed_pages.publishing._numbers import PublishedFinding, RunNumbers
from trialbed_pages.publishing._page import KINDS, spread

REFERENCE = "reference"
"""Trialbed's own loop, which is no framework."""

NATIVE, CONTROLLED = ":native", ":controlled"

ORDER = ("better", "worse", "equivalent", "identical", "too few")
VERDICTS = {
    "better": "shown to solve more",
    "worse": "shown to solve fewer",
    "equivalent": "within {margin:g} points",
    "identical": "the same on every task asked, which leaves {interval} possible",
    "too few": "open",
}

INTERVALS = (
    "In brackets: the 95 % interval of the difference, for further tasks like these with this model; other models or "
    "kinds of tasks may give other results."
)


def title_of(runs: Sequence[RunNumbers]) -> str:
    """Return a title that names the compared frameworks and models."""
    models = _in_words(list(dict.fromkeys(run.model for run in runs)))
    names = dict.fromkeys(one.label.split(":")[0].split("==")[0] for run in runs for one in run.frameworks)
    own = [name for name in names if name != REFERENCE]
    compared = f"{len(own)} agent frameworks" if len(own) > 1 else next(iter(own), "the reference loop")
    compared += " and the reference loop" if own and REFERENCE in names else ""
    tasks = {run.dataset_digest: len(run.queries) for run in runs}
    sets = ", ".join(dict.fromkeys(run.dataset for run in runs))
    faults = ", with injected faults" if any(map(_faults, runs)) else ""
    return f"{compared} with {models} on {number_of(sum(tasks.values()), 'task')} ({sets}){faults}"


def _in_words(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _faults(run: RunNumbers) -> str:
    plan = run.settings.get("faults")
    return fault_note(plan) if isinstance(plan, str) else ""


def names_of(runs: Sequence[RunNumbers]) -> list[str]:
    """Return names by which runs of a page can be told apart: none for one alone, the model's where that is enough."""
    models = [run.model for run in runs]
    if len(runs) == 1:
        return [""]
    return models if len({*models}) == len(models) else [f"{run.model}, {run.name}" for run in runs]


def lead_of(run: RunNumbers) -> list[str]:
    """Return the result of a run in a few sentences: the range of what is solved, and what is shown of differences."""
    known = [(mean.value, one.label) for one in run.frameworks if (mean := mean_of(one, JUDGED)).value is not None]
    if not known:
        return ["No trial has a verdict."]
    least, most = min(known), max(known)
    tasks = number_of(len(run.queries), "task") + (f", asked {run.repeat} times each" if run.repeat > 1 else "")
    faults = [f"{note}."] if (note := _faults(run)) else []
    if len(known) == 1:
        return [f"{most[1]} solves {percent(most[0])} of {tasks}.", *faults]
    return [
        f"{_shares_sentence(run, known, tasks)}{_tokens_sentence(run)}",
        *faults,
        *_sureness(run, most[0] - least[0]),
        *_verdict_sentences(run),
        *_words(run),
    ]


def _shares_sentence(run: RunNumbers, known: Sequence[tuple[float, str]], tasks: str) -> str:
    """Return the shares that are solved, behind the finding where that is that no difference is shown."""
    ends = (min(known)[0], max(known)[0])
    spread = " to ".join(f"{percent(end)} ({', '.join(_at(end, known))})" for end in ends)
    share = f"each solve {percent(ends[0])}" if ends[0] == ends[1] else f"solve from {spread}"
    against = [one for one in run.findings if one.kind == "reference" and one.score == JUDGED]
    if not against or any(_verdict(one) in ("better", "worse") for one in against):
        return f"The {len(known)} set-ups {share} of {tasks}."
    finding = f"No set-up is shown to solve more or fewer tasks than {against[0].against}"
    return f"{finding}: the {len(known)} set-ups {share} of {tasks}."


def _at(value: float, means: Sequence[tuple[float, str]]) -> list[str]:
    return [label for mean, label in means if mean == value]


def _tokens_sentence(run: RunNumbers) -> str:
    known = [(mean.value, one.label) for one in run.frameworks if (mean := mean_of(one, TOKENS)).value is not None]
    if not known:
        return ""
    least, most = min(known), max(known)
    if compact(least[0]) == compact(most[0]):
        return f" A trial takes {compact(most[0])} tokens on average."
    return f" On average, a trial takes from {compact(least[0])} tokens ({least[1]}) to {compact(most[0])} ({most[1]})."


def _sureness(run: RunNumbers, apart: float) -> list[str]:
    """Return how far the shares can be trusted, as one paragraph."""
    found = [*_noise_sentence(run, apart), *_sentence_on_tasks(run)]
    return [" ".join(found)] if found else []


def _noise_sentence(run: RunNumbers, apart: float) -> Iterator[str]:
    """Yield by how much the repeats of a set-up differ, beside that by which the set-ups do."""
    if run.repeat < 2:
        return
    widest = max(spread(one, run.repeat) for one in run.frameworks)
    if points(widest) == points(0):
        yield "The model's noise moves none of these shares: the repeats of each set-up agree."
        return
    trials = len(run.queries)
    yield (
        "The model alone moves these shares: two repeats of one set-up, where only the seed differs, differ by up to "
        f"{points(widest)} ({trials:,} trials each); the set-ups, by up to {points(apart)} ({trials * run.repeat:,} "
        "trials each)."
    )


def _sentence_on_tasks(run: RunNumbers) -> Iterator[str]:
    """Yield how many tasks leave room for a difference: those that were solved in some trials and not in others."""
    trials = [[value for one in run.frameworks for value in one.solved.get(task.query, ())] for task in run.queries]
    always = sum(bool(values) and min(values) >= 1 for values in trials)
    never = sum(bool(values) and max(values) <= 0 for values in trials)
    if always or never:
        others = len(trials) - always - never
        left = (
            f"all differences come from the other {others}" if others else "none is left that could show a difference"
        )
        counted = f"Solved in every trial: {always} of {number_of(len(trials), 'task')}; in none: {never}"
        yield f"{counted}; {left}."


def definitions_of(run: RunNumbers) -> frozenset[str]:
    """Return the sentences of a run's result that explain words and figures, and say nothing of the run itself."""
    return frozenset([INTERVALS, *_words(run)])


def _words(run: RunNumbers) -> Iterator[str]:
    """Yield the meaning of the words in the names of the set-ups."""
    labels = [one.label for one in run.frameworks]
    meanings = {
        "native": (NATIVE, "a framework as its own documentation sets it up"),
        "controlled": (CONTROLLED, "everything but the framework's engine made equal"),
        REFERENCE: (REFERENCE, "Trialbed's own plain loop"),
    }
    found = [f"{word}: {text}" for word, (end, text) in meanings.items() if any(one.endswith(end) for one in labels)]
    if found:
        first = f"{found[0][0].upper()}{found[0][1:]}"
        yield f"{'; '.join([first, *found[1:]])}."


def _verdict_sentences(run: RunNumbers) -> Iterator[str]:
    judged = [one for one in run.findings if one.score == JUDGED]
    for kind in KINDS:
        found = [one for one in judged if one.kind == kind and _verdict(one) in VERDICTS]
        by_words: dict[str, list[str]] = {}
        for one in sorted(found, key=lambda one: ORDER.index(_verdict(one))):
            name = one.framework.replace(NATIVE, "") if kind == "profile" else one.framework
            interval = one.text.partition(" ")[2]
            words = VERDICTS[_verdict(one)].format(margin=100 * run.margin, interval=interval)
            by_words.setdefault(words, []).append(f"{name} {interval}" if _verdict(one) == "too few" else name)
        if found:
            against = "Native against controlled" if kind == "profile" else f"Against {found[0].against}"
            parts = [f"{words}: {', '.join(names)}" for words, names in by_words.items()]
            yield f"{against}, {'; '.join(parts)}."
    if any(_verdict(one) in ("identical", "too few") for one in judged):
        yield INTERVALS


def _verdict(found: PublishedFinding) -> str:
    return next((name for name in ORDER if found.verdict.startswith(name)), found.verdict)
