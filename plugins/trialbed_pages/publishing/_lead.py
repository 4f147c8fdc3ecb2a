"""The title and the first sentences of published results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from trialbed.records import framework_name
from trialbed.report import fault_note, in_words
from trialbed.scoring import JUDGED
from trialbed.texts import number_of, percent, points
from trialbed.views import compact
from trialbed_pages.publishing._figures import TOKENS, mean_of
from trialbed_pages.publishing._numbers import RunNumbers

REFERENCE = "reference"
"""Trialbed's own plain loop, which is no framework."""

FORMS = {":native": "as its documentation sets it up", ":controlled": "its loop with Trialbed's requests and errors"}


def title_of(runs: Sequence[RunNumbers]) -> str:
    """Return a title that names the compared frameworks and models."""
    models = in_words(list(dict.fromkeys(run.model for run in runs)))
    names = dict.fromkeys(framework_name(one.label) for run in runs for one in run.frameworks)
    own = [name for name in names if name != REFERENCE]
    compared = f"{len(own)} agent frameworks" if len(own) > 1 else next(iter(own), "the plain loop")
    compared += " and the plain loop" if own and REFERENCE in names else ""
    tasks = {run.dataset_digest: len(run.queries) for run in runs}
    datasets = in_words(list(dict.fromkeys(run.dataset for run in runs)))
    faults = ", with injected faults" if any(map(_faults, runs)) else ""
    return f"{compared} with {models} on {number_of(sum(tasks.values()), 'task')} of {datasets}{faults}"


def _faults(run: RunNumbers) -> str:
    plan = run.settings.get("faults")
    return fault_note(plan) if isinstance(plan, str) else ""


def names_of(runs: Sequence[RunNumbers]) -> list[str]:
    """Return names that distinguish the runs of a page by model, dataset or id; empty for a single run."""
    if len(runs) == 1:
        return [""]
    named = [run.model for run in runs], [f"{run.model} on {run.dataset}" for run in runs]
    return next((names for names in named if len({*names}) == len(names)), [f"{run.model}, {run.name}" for run in runs])


def lead_of(run: RunNumbers) -> list[str]:
    """Return a run's result in a few sentences, with the range and the limits of the comparison."""
    solved = [mean.value for one in run.frameworks if (mean := mean_of(one, JUDGED)).value is not None]
    if not solved:
        return ["No trial has a verdict."]
    tokens = [mean.value for one in run.frameworks if (mean := mean_of(one, TOKENS)).value is not None]
    tasks = number_of(len(run.queries), "task") + (f", asked {run.repeat} times each" if run.repeat > 1 else "")
    who = f"The {len(solved)} setups solve" if len(solved) > 1 else f"{run.frameworks[0].label} solves"
    sentences = [f"{who} {_span(list(map(percent, sorted(solved))))} of {tasks}."]
    if tokens:
        sentences.append(f"A trial takes {_span(list(map(compact, sorted(tokens))))} tokens on average.")
    limits = [f"{note}." if (note := _faults(run)) else "", *_alike(run), _noise(run, max(solved) - min(solved))]
    meanings = [f"{form[1:]}: {text}" for form, text in FORMS.items() if _of_form(run, form)]
    words = "; ".join(meanings)
    return list(filter(None, [" ".join([*_outcome(run), *sentences]), *limits, words and f"{words}."]))


def _span(texts: Sequence[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def _outcome(run: RunNumbers) -> Iterator[str]:
    """Yield the setups that solve significantly more or fewer tasks than the baseline; nothing without comparisons."""
    found = [one for one in run.findings if one.kind == "reference" and one.score == JUDGED]
    for verdict, words in (("better", "more"), ("worse", "fewer")):
        own = [one.framework for one in found if one.verdict == verdict]
        if own:
            yield f"{in_words(own)} {'are' if own[1:] else 'is'} shown to solve {words} tasks than {found[0].against}."
    if found and not any(one.verdict in ("better", "worse") for one in found):
        yield f"No setup is shown to solve more or fewer tasks than {found[0].against}."


def _noise(run: RunNumbers, apart: float) -> str:
    """Return the differences between repeats of one setup and between setups; empty without repeats."""
    if run.repeat < 2:
        return ""
    widest = 0.0
    for one in run.frameworks:
        each = [[values[place] for values in one.solved.values() if len(values) > place] for place in range(run.repeat)]
        shares = [fmean(values) for values in each if values]
        widest = max(widest, max(shares) - min(shares)) if shares else widest
    return (
        f"Repeats of one setup, which differ only in the model's seed, are up to {points(widest)} apart; the setups, "
        f"up to {points(apart)}."
    )


def _alike(run: RunNumbers) -> Iterator[str]:
    """Yield the setups with equal requests and answers, which are no evidence for one another."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for one in run.frameworks:
        # Equal requests are not enough: a model that samples may end equal conversations with other words.
        answers = one.completion_tokens, *sorted(one.solved.items())
        alike.setdefault((one.requests_digest, *answers), []).append(one.label)
    for (digest, *_), equal in alike.items():
        if digest and len(equal) > 1:
            form = next((form for form in FORMS if len(equal) > 2 and equal == _of_form(run, form)), "")
            names = f"The {len(equal)} {form[1:]} setups" if form else in_words(equal)
            yield f"{names} sent equal requests and got the same answers: count them as one measurement."


def _of_form(run: RunNumbers, form: str) -> list[str]:
    return [one.label for one in run.frameworks if one.label.endswith(form)]
