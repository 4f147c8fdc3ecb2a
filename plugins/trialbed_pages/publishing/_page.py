"""The page of published results: its first sentences, figures, leaderboard and sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from trialbed.attribution import USED
from trialbed.records import STAGES, framework_name, score_heading, score_title
from trialbed.report import fault_note, in_words
from trialbed.scoring import JUDGED
from trialbed.texts import group_by_key, number_of, percent
from trialbed.views import (
    UNKNOWN,
    Bar,
    BarPlot,
    IntervalPlot,
    Plot,
    PlotPoint,
    Table,
    TableRow,
    compact,
    counts,
    estimate,
)
from trialbed_pages.publishing._numbers import TURN_TOKENS, PublishedFramework, PublishedMean, RunNumbers

TOKENS = "total_tokens"
NOTHING = PublishedMean(value=None)


def figures_of(run: RunNumbers) -> dict[str, Plot]:
    """Return the figures of a run by the names of their files."""
    drawn: dict[str, Plot] = {"solved": _plot_solved(run)}
    if any(stage != USED and count for one in run.frameworks for stage, count in one.gold_calls.items()):
        drawn["losses"] = _plot_losses(run)
    return drawn


def mean_of(framework: PublishedFramework, score: str) -> PublishedMean:
    """Return the mean of a score; it has no value if the framework lacks the score."""
    return framework.scores.get(score, NOTHING)


def interval_text(mean: PublishedMean) -> str:
    """Return a mean with its interval as text."""
    return estimate(dict(mean), 2)


def _plot_solved(run: RunNumbers) -> IntervalPlot:
    means = [(one.label, mean_of(one, JUDGED)) for one in run.frameworks]
    points = [PlotPoint(label, mean.value, mean.low, mean.high, interval_text(mean)) for label, mean in means]
    return IntervalPlot(f"{score_heading(JUDGED)}: share of trials, with its 95 % interval", points, (0.0, 1.0))


def _plot_losses(run: RunNumbers) -> BarPlot:
    every = [(one.label, one.gold_calls, sum(one.gold_calls.values())) for one in run.frameworks]
    known = [(label, counts, total) for label, counts, total in every if total]
    stages = [USED, *(stage for stage in STAGES if any(counts.get(stage) for _, counts, _ in known))]
    shares = [(label, {stage: own.get(stage, 0) / total for stage in stages}) for label, own, total in known]
    texts = [f"{100 * own.get(USED, 0) / total:.0f} % used" for _, own, total in known]
    bars = [Bar(label, own, text) for (label, own), text in zip(shares, texts, strict=True)]
    return BarPlot("Share of expected calls whose results were used, or lost at a stage", bars, good=(USED,))


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
    limits = [f"{note}." if (note := _faults(run)) else "", *_alike(run)]
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


SEEDS = "seed"
"""The one setting that may differ: it says which noise, and nothing of the subject."""

USUAL = "the usual one"

TITLE = "Leaderboard"


def why_apart(one: RunNumbers, other: RunNumbers) -> str:
    """Return why the figures of two runs do not stand on one board; empty if they do."""
    mine, its = _facts(one), _facts(other)
    name = next((name for name in dict.fromkeys([*mine, *its]) if mine.get(name) != its.get(name)), "")
    if not name or name in ("tasks", "injected faults"):
        return f"its {name} are not the same" if name else ""
    return f"its {name} is {its.get(name, USUAL)}, not {mine.get(name, USUAL)}"


def _facts(run: RunNumbers) -> dict[str, object]:
    """Return the facts that all runs on one board share."""
    settings = {name.replace("_", " "): value for name, value in run.settings.items() if name != SEEDS}
    named = {"injected faults" if name == "faults" else name: settings[name] for name in sorted(settings)}
    tasks = {"dataset": f"{run.dataset} {run.dataset_digest[:12]}", "tasks": {query.query for query in run.queries}}
    return {**tasks, "judge": run.judge, **named}


def board_tables(runs: Sequence[RunNumbers]) -> Iterator[Table]:
    """Yield the leaderboard of several runs, with the reasons why some are not on it; a page of one run says more."""
    if len(runs) < 2:
        return
    apart = {run.name: why for run in runs if (why := why_apart(runs[0], run))}
    names = zip(runs, names_of(runs), strict=True)
    notes = [
        f"The {TITLE.lower()} has not the run of {name}: {apart[run.name]}." for run, name in names if run.name in apart
    ]
    yield _board([run for run in runs if run.name not in apart], notes)


def _board(runs: Sequence[RunNumbers], apart: Sequence[str]) -> Table:
    rows = [
        (mean_of(one, JUDGED), (one.label, *_run(run, runs), *_cells(run, place)))
        for run in runs
        for place, one in enumerate(run.frameworks)
    ]
    rows.sort(key=lambda row: 1.0 if row[0].value is None else -row[0].value)
    notes = [
        "In the order of the means. Whether two of one run differ is said below; of two runs, bench compare says it.",
        *apart,
    ]
    columns = ("", *("model", "run")[: len(_run(runs[0], runs))], "solved", "tokens a trial")
    return Table.of(TITLE, columns, [cells for _, cells in rows], notes)


def _run(run: RunNumbers, runs: Sequence[RunNumbers]) -> tuple[str, ...]:
    """Return the model of a run, with the run's id if several runs have the same model."""
    return (run.model,) if len({one.model for one in runs}) == len(runs) else (run.model, run.name)


def _cells(run: RunNumbers, place: int) -> tuple[str, str]:
    one = run.frameworks[place]
    return interval_text(mean_of(one, JUDGED)), compact(mean_of(one, TOKENS).value)


Part: TypeAlias = Table | Plot

KINDS = {"reference": "against {}", "profile": "defaults against conductor only"}


def parts_of(run: RunNumbers, figures: Mapping[str, Plot], *, name: str = "") -> list[Part]:
    """Return the sections of a run's page; the first three are its result.

    Args:
        figures: the run's.
        name: begins the titles of its sections if the page has other runs.
    """
    prefix = f"{name}: " if name else ""
    concluded = [one.conclusion for one in run.frameworks]
    found: list[Part] = [
        figures["solved"],
        Table(f"{prefix}The result of each setup", notes=[BRACKETS, *concluded]),
        _costs(run, prefix),
        *_conversations(run, prefix),
        *_comparisons(run, prefix),
        *_losses(run, prefix),
        _tasks(run, prefix),
    ]
    if "losses" in figures:
        found.insert(next(place for place, one in enumerate(found) if one.title.endswith(LOST)), figures["losses"])
    return found


BRACKETS = (
    "In brackets: the 95 % interval. An expected call is one that a task needs, counted in each trial; it was used if "
    "something of its result stands in the answer or in a later call."
)


def _costs(run: RunNumbers, prefix: str) -> Table:
    rows = []
    for one in run.frameworks:
        solved, whole = sum(map(sum, one.solved.values())), one.prompt_tokens + one.completion_tokens
        setup = (one.label, one.version or UNKNOWN, str(one.trials), counts(one.failures) or "none")
        each, requests = mean_of(one, TOKENS).value, one.requests / one.trials if one.trials else None
        costs = (each, requests, whole / solved if solved and whole else None)
        rows.append((*setup, interval_text(mean_of(one, JUDGED)), *map(compact, costs)))
    figures = ("failed", "solved", "tokens a trial", "requests a trial", "tokens a solved task")
    note = "In brackets: the 95 % interval. A trial that failed is not solved. Tokens are means of the model's counts."
    title = f"{prefix}What is solved, and what it costs in tokens"
    return Table.of(title, ("", "version", "trials", *figures), rows, [note])


KEPT = {"history kept": "history_kept", "remembered": "remembered", "policy kept": "policy_kept"}
"""Column of the table of conversations -> its score, which lies in [0, 1]."""


def _conversations(run: RunNumbers, prefix: str) -> Iterator[Table]:
    """Yield the share of trials that kept the history, and the tokens of turns; nothing without conversations."""
    columns = {
        heading: name
        for heading, name in (KEPT | TURN_TOKENS).items()
        if any(name in one.scores for one in run.frameworks)
    }
    if TURN_TOKENS.keys().isdisjoint(columns):
        return
    rows = []
    for one in run.frameworks:
        means = {heading: mean_of(one, name) for heading, name in columns.items()}
        cells = (interval_text(mean) if heading in KEPT else compact(mean.value) for heading, mean in means.items())
        rows.append((one.label, *cells))
    title = f"{prefix}What is kept of a conversation, and what its turns cost in tokens"
    yield Table.of(title, ("", *columns), rows, [CONVERSATIONS])


CONVERSATIONS = (
    "history kept: each turn's first request has all messages of the turns before. remembered: the share of right "
    "calls and facts among those that need something of an earlier turn. Tokens of a turn are those of its prompts, as "
    "a mean over the conversations that have the turn."
)


def _comparisons(run: RunNumbers, prefix: str) -> Iterator[Table]:
    kinds = {kind: found for kind in KINDS if (found := [one for one in run.findings if one.kind == kind])}
    legend = [_comparison_legend(run.margin)]
    for kind, found in kinds.items():
        rows, same = list[TableRow](), dict[str, list[str]]()
        for score, own in group_by_key((one.score, one) for one in found).items():
            same[score_title(score)] = [one.framework for one in own if one.verdict == SAME]
            rows += [
                TableRow(
                    f"{score_title(score)}: {one.framework}",
                    (one.text, f"{one.changed} of {one.n}", one.p, one.verdict),
                )
                for one in own
                if one.verdict != SAME
            ]
        alike = [f"The same on every task in {title}: {in_words(names)}." for title, names in same.items() if names]
        title = f"{prefix}Paired comparison, {KINDS[kind].format(found[0].against)}"
        yield Table(title, ("", "difference", "changed", "p", "verdict"), rows, [*alike, *legend])
        legend = []


CALLED = score_title("api_call_score")


def _comparison_legend(margin: float) -> str:
    return (
        f"{CALLED}: the share of a task's expected tools that were called, with any arguments. difference: the "
        "mean over tasks with its 95 % interval, which allows for tasks that were not asked. changed: tasks on which "
        f"the two differ. p is adjusted for the number of comparisons. equivalent: the interval is within {margin:g}. "
        "identical: the same on every task. too few: about as many tasks as in brackets would show a difference, or "
        f"that it is below {margin:g}."
    )


SAME = "identical"
"""The verdict of setups that are equal on every task."""

LOST, TASKS = "Where calls were lost", "Each task"


def _losses(run: RunNumbers, prefix: str) -> Iterator[Table]:
    stages = [stage for stage in STAGES if any(one.gold_calls.get(stage) for one in run.frameworks)]
    if not stages:
        return
    columns = [*stages, USED]
    rows = [
        (one.label, str(sum(one.gold_calls.values())), *(str(one.gold_calls.get(name, 0)) for name in columns))
        for one in run.frameworks
    ]
    notes = [
        "Each expected call of each trial is counted once, at the first stage that it did not pass. numbers.json has "
        "every lost call with its reason.",
    ]
    yield Table.of(f"{prefix}{LOST}", ("", "expected", *columns), rows, notes)


def _tasks(run: RunNumbers, prefix: str) -> Table:
    solved: dict[str, list[tuple[str, Sequence[float]]]] = {}
    for one in run.frameworks:
        for query, values in one.solved.items():
            solved.setdefault(query, []).append((one.label, values))
    rows = []
    for task in run.queries:
        own = solved.get(task.query, [])
        trials = [value for _, values in own for value in values]
        always = sum(bool(values) and min(values) >= 1 for _, values in own)
        never = sum(bool(values) and max(values) == 0 for _, values in own)
        share = f"{sum(trials):g} of {len(trials)}"
        rows.append((f"{task.query}: {task.text}", str(task.tools), str(task.calls), share, str(always), str(never)))
    columns = ("", "tools", "calls", "trials solved", "setups: always", "never")
    return Table.of(f"{prefix}{TASKS}", columns, rows)
