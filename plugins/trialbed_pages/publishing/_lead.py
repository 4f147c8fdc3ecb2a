"""The title and the first sentences of published results: the outcome, how sure it is, and each verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.records import GIVE_UP
from trialbed.report import fault_note
from trialbed.scoring import JUDGED
from trialbed.texts import number_of, percent, points
from trialbed.views import compact
from trialbed_pages.publishing._figures import TOKENS, mean_of
from trialbed_pages.publishing._numbers import RunNumbers
from trialbed_pages.publishing._page import spread
from trialbed_pages.publishing._verdicts import (
    CONTROLLED,
    NATIVE,
    REFERENCE,
    advice,
    in_words,
    outcome,
    set_ups,
    shown_and_open,
    shows_difference,
)

MEANINGS = {
    NATIVE: "a framework as its own documentation sets it up",
    CONTROLLED: "a framework with the same prompt, tools and settings as every other, so that its engine alone differs",
}


MOST_SOLVED = "The most tasks are solved by {}, the fewest by {}."
MOST_SOLVED_BY_CHANCE = "The most tasks are solved by {}, the fewest by {}, which may be chance."
MOST_TOKENS = "The most tokens are taken by {}, the fewest by {}."


def title_of(runs: Sequence[RunNumbers]) -> str:
    """Return a title that names the compared frameworks and models."""
    models = in_words(list(dict.fromkeys(run.model for run in runs)))
    names = dict.fromkeys(one.label.split(":")[0].split("==")[0] for run in runs for one in run.frameworks)
    own = [name for name in names if name != REFERENCE]
    compared = f"{len(own)} agent frameworks" if len(own) > 1 else next(iter(own), "the reference loop")
    compared += " and the reference loop" if own and REFERENCE in names else ""
    tasks = {run.dataset_digest: len(run.queries) for run in runs}
    names_of_sets = list(dict.fromkeys(run.dataset for run in runs))
    sets = f"the dataset{'s' if len(names_of_sets) > 1 else ''} {in_words(names_of_sets)}"
    faults = ", with injected faults" if any(map(_faults, runs)) else ""
    return f"{compared} with {models} on {number_of(sum(tasks.values()), 'task')} of {sets}{faults}"


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
    """Return the result of a run in a few sentences: the outcome, proofs, open questions, and advice."""
    known = [(mean.value, one.label) for one in run.frameworks if (mean := mean_of(one, JUDGED)).value is not None]
    if not known:
        return ["No trial has a verdict."]
    tokens = [(mean.value, one.label) for one in run.frameworks if (mean := mean_of(one, TOKENS)).value is not None]
    least, most = min(known), max(known)
    tasks = number_of(len(run.queries), "task") + (f", asked {run.repeat} times each" if run.repeat > 1 else "")
    faults = [f"{note}."] if (note := _faults(run)) else []
    if len(known) == 1:
        return [f"{most[1]} solves {percent(most[0])} of {tasks}.", *faults]
    span = percent(most[0]) if least[0] == most[0] else f"from {percent(least[0])} to {percent(most[0])}"
    return [
        f"{outcome(run)}The {len(known)} set-ups solve {span} of {tasks}.{_tokens_sentence(tokens)}",
        *faults,
        *_paragraph("", *_words(run)),
        *_paragraph(
            "",
            _tasks_sentence(run),
            *_one_measurement(run),
            *_extremes(known, MOST_SOLVED if shows_difference(run) else MOST_SOLVED_BY_CHANCE),
            *(_extremes(tokens, MOST_TOKENS) if tokens else ()),
        ),
        *shown_and_open(run),
        *_paragraph("How sure? ", *_noise_sentence(run, most[0] - least[0]), *_sentence_on_tasks(run), *_given_up(run)),
        advice(run),
    ]


def _paragraph(beginning: str, *sentences: str) -> Iterator[str]:
    """Yield sentences as one paragraph, if there are any."""
    if sentences:
        yield f"{beginning}{' '.join(sentences)}"


def _tasks_sentence(run: RunNumbers) -> str:
    """Return the size of the tasks: how many tools they offer, and how many calls they expect."""
    tools, calls = sorted({task.tools for task in run.queries}), max(task.calls for task in run.queries)
    offered = f"{tools[0]} to {tools[-1]} tools" if len(tools) > 1 else number_of(tools[0], "tool")
    expected = f" and expects up to {number_of(calls, 'call')}" if calls else ""
    return f"A task offers {offered}{expected}."


def _extremes(known: Sequence[tuple[float, str]], words: str) -> Iterator[str]:
    """Yield which set-ups have the most and the least of a figure.

    Args:
        known: the figure of each.
        words: the figure's, with a place for the set-ups of either end.
    """
    ends = [[label for mean, label in known if mean == end] for end in (max(known)[0], min(known)[0])]
    if ends[0] != ends[1]:
        yield words.format(*map(in_words, ends))


def _tokens_sentence(known: Sequence[tuple[float, str]]) -> str:
    if not known:
        return ""
    least, most = map(compact, (min(known)[0], max(known)[0]))
    if least == most:
        return f" A trial takes {most} tokens on average."
    return f" A trial takes from {least} to {most} tokens on average; whether that is more than chance is not tested."


def _noise_sentence(run: RunNumbers, apart: float) -> Iterator[str]:
    """Yield by how much the repeats of a set-up differ, beside that by which the set-ups do."""
    if run.repeat < 2:
        return
    widest = max(spread(one, run.repeat) for one in run.frameworks)
    if points(widest) == points(0):
        yield "The model's noise moves none of these shares: the repeats of each set-up agree."
        return
    trials = len(run.queries)
    if widest >= apart and not shows_difference(run):
        yield (
            "Asked again, with another seed alone, the same set-up's share moves by up to "
            f"{points(widest)} ({trials:,} trials each), so that the {points(apart)} between the set-ups "
            f"({trials * run.repeat:,} trials each) may be the model's chance."
        )
        return
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
    return frozenset([*_paragraph("", *_words(run)), advice(run)])


def _given_up(run: RunNumbers) -> Iterator[str]:
    """Yield in how many trials the model gave up, and how these count."""
    uncalled = {task.query for task in run.queries if task.states_calls and not task.calls}
    found = [
        (query, one.solved[query][place] >= 1)
        for one in run.frameworks
        for query, places in one.gave_up.items()
        for place in places
    ]
    if not found:
        return
    trials = number_of(sum(one.trials for one in run.frameworks), "trial")
    unsolved = [query for query, is_solved in found if not is_solved]
    count = "these" if len(unsolved) == len(found) else f"of these, {len(unsolved):,}"
    also = sum(query in uncalled for query in unsolved)
    where = f", {also:,} of them in tasks that expect no call" if also else ""
    yield f"In {len(found):,} of {trials}, the model gave up (it answered {GIVE_UP}); {count} count as unsolved{where}."


def _words(run: RunNumbers) -> Iterator[str]:
    """Yield the meaning of the words in the names of the set-ups."""
    labels = [one.label for one in run.frameworks]
    for form, text in MEANINGS.items():
        if any(label.endswith(form) for label in labels):
            yield f"{form.removeprefix(':').capitalize()}: {text}."
    if REFERENCE in labels and not outcome(run):
        yield "Reference: Trialbed's own plain loop."


def _one_measurement(run: RunNumbers) -> Iterator[str]:
    """Yield which set-ups sent equal requests and got equal answers: their results are no evidence for one another."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for one in run.frameworks:
        # Equal requests are not enough: a model that samples may end equal conversations with other words.
        answers = one.completion_tokens, *sorted(one.solved.items())
        alike.setdefault((one.requests_digest, *answers), []).append(one.label)
    for (digest, *_), equal in alike.items():
        if digest and len(equal) > 1:
            text = f"{set_ups(equal, run)} sent equal requests and so got the same answers: they are one measurement."
            yield f"T{text[1:]}" if text.startswith("the ") else text
