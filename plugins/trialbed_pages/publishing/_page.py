"""The page of published results: conclusions first, then figures, comparisons, losses, costs, noise and tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

from trialbed.report import fault_note, percent, points
from trialbed.report.attribution import STAGES, USED
from trialbed.scoring import JUDGED
from trialbed.views import UNKNOWN, Plot, Table, TableRow, compact, counts
from trialbed_pages.publishing._figures import TOKENS, interval_text, mean_of
from trialbed_pages.publishing._numbers import PublishedFinding, PublishedFramework, RunNumbers
from trialbed_pages.score_words import score_words

Part: TypeAlias = Table | Plot

KINDS = {"reference": "against {}", "profile": "native against controlled"}

REFERENCE = "reference"
"""Trialbed's own loop, which is no framework."""

ORDER = ("better", "worse", "equivalent", "identical", "too few")
VERDICTS = {
    "better": "shown to solve more",
    "worse": "shown to solve fewer",
    "equivalent": "shown to differ by less than {margin:g} points",
    "identical": "the same on every task",
    "too few": "too few tasks to tell",
}


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
    return f"{compared} with {models} on {sum(tasks.values())} tasks ({sets}){faults}"


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
    tasks = f"{len(run.queries)} tasks" + (f", asked {run.repeat} times each" if run.repeat > 1 else "")
    faults = [f"{note}."] if (note := _faults(run)) else []
    if len(known) == 1:
        return [f"{most[1]} solves {percent(most[0])} of {tasks}.", *faults]
    spread = " to ".join(f"{percent(end)} ({', '.join(_at(end, known))})" for end in (least[0], most[0]))
    share = f"each solve {percent(least[0])}" if least[0] == most[0] else f"solve from {spread}"
    return [
        f"The {len(known)} set-ups {share} of {tasks}{_no_difference(run)}.{_tokens_sentence(run)}",
        *faults,
        *_verdict_sentences(run),
        *_noise_sentence(run),
    ]


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


def _no_difference(run: RunNumbers) -> str:
    against = [one for one in run.findings if one.kind == "reference" and one.score == JUDGED]
    if not against or any(_verdict(one) in ("better", "worse") for one in against):
        return ""
    return f"; none is shown to solve more or fewer than {against[0].against}"


def _verdict_sentences(run: RunNumbers) -> Iterator[str]:
    for kind in KINDS:
        found = [one for one in run.findings if one.kind == kind and one.score == JUDGED]
        by_verdict: dict[str, list[str]] = {}
        for one in found:
            name = one.framework.replace(":native", "") if kind == "profile" else one.framework
            by_verdict.setdefault(_verdict(one), []).append(name)
        words = {name: text.format(margin=100 * run.margin) for name, text in VERDICTS.items()}
        parts = [f"{words[name]}: {', '.join(by_verdict[name])}" for name in ORDER if name in by_verdict]
        if parts:
            against = "Native against controlled" if kind == "profile" else f"Against {found[0].against}"
            yield f"{against}, {'; '.join(parts)}."


def _verdict(found: PublishedFinding) -> str:
    return next((name for name in ORDER if found.verdict.startswith(name)), found.verdict)


def parts_of(run: RunNumbers, figures: Mapping[str, Plot], *, name: str = "") -> list[Part]:
    """Return the sections of a run's page: the first three are its result.

    Args:
        figures: the run's.
        name: begins the titles of its sections where other runs stand on the page.
    """
    prefix = f"{name}: " if name else ""
    found: list[Part] = [
        Table(f"{prefix}The result of each set-up", notes=_conclusions(run.frameworks)),
        figures["solved"],
        _costs(run, prefix),
        figures["tokens"],
        *_comparisons(run, prefix),
        *_losses(run, prefix),
        *_noise(run, prefix),
        _tasks(run, prefix),
    ]
    if "losses" in figures:
        found.insert(next(place for place, one in enumerate(found) if one.title.endswith(LOST)), figures["losses"])
    return found


def _conclusions(frameworks: Sequence[PublishedFramework]) -> list[str]:
    """Return the conclusions, those that say the same of several set-ups as one."""
    labels: dict[str, list[str]] = {}
    for one in frameworks:
        labels.setdefault(one.conclusion.removeprefix(one.label), []).append(one.label)
    return [
        "".join(names) + text if len(names) == 1 else ", ".join(names) + _of_several(text)
        for text, names in labels.items()
    ]


def _of_several(text: str) -> str:
    return text.replace(" solves ", " each solve ", 1).replace(" of its ", " of each one's ", 1)


def _costs(run: RunNumbers, prefix: str) -> Table:
    rows = []
    for one in run.frameworks:
        each = mean_of(one, TOKENS).value
        solved = sum(sum(values) for values in one.solved.values())
        whole = one.prompt_tokens + one.completion_tokens
        rows.append(
            (
                one.label,
                one.version or UNKNOWN,
                str(one.trials),
                counts(one.failures) or "none",
                interval_text(mean_of(one, JUDGED)),
                compact(each),
                compact(one.requests / one.trials if one.trials else None),
                compact(whole / solved if solved else None),
            )
        )
    columns = (
        "",
        "version",
        "trials",
        "failed",
        "solved",
        "tokens a trial",
        "requests a trial",
        "tokens a solved task",
    )
    return Table.of(
        f"{prefix}What is solved, and what it costs in tokens",
        columns,
        rows,
        ["In brackets: the 95 % interval. A trial that failed is not solved. Tokens are means of the model's counts."],
    )


def _comparisons(run: RunNumbers, prefix: str) -> Iterator[Table]:
    kinds = {kind: found for kind in KINDS if (found := [one for one in run.findings if one.kind == kind])}
    legend = [_comparison_legend(run.margin)]
    for kind, found in kinds.items():
        scores = list(dict.fromkeys(one.score for one in found))
        rows = [
            TableRow(
                f"{score_words(one.score)}: {one.framework}",
                (one.text, f"{one.changed} of {one.n}", one.p, one.verdict),
            )
            for one in sorted(found, key=lambda one: scores.index(one.score))
        ]
        title = f"{prefix}Paired comparison, {KINDS[kind].format(found[0].against)}"
        yield Table(title, ("", "difference", "changed", "p", "verdict"), rows, [*legend, *_causes(found)])
        legend = []


def _comparison_legend(margin: float) -> str:
    return (
        "difference: the mean over tasks, with its 95 % interval. changed: tasks on which the two differ. p is "
        f"adjusted over all comparisons that are made at once. equivalent: within {margin:g}. identical: the "
        "same on every task asked. Tasks that were not asked may differ; as no difference was seen, the interval "
        "takes each of them to be as large as it can be. Where differences were seen, it takes others to be as "
        "large as the largest of them: a small one, as in one of two repeats, makes it narrower. too few: too few "
        "tasks to tell; the number in brackets says about how many would be enough."
    )


def _causes(found: Sequence[PublishedFinding]) -> Iterator[str]:
    told = {one.framework: one.causes for one in found if one.causes}
    for framework, causes in told.items():
        told_of = "; ".join(f"{cause} ({n} {'task' if n == 1 else 'tasks'})" for cause, n in causes.items())
        yield f"Where {framework} is lower in a task than its controlled profile, by any score: {told_of}."


LOST, TASKS = "Where calls were lost", "Each task"

UNCALLED = "unsolved without an expected call"


def _losses(run: RunNumbers, prefix: str) -> Iterator[Table]:
    stages = [stage for stage in STAGES if any(one.gold_calls.get(stage) for one in run.frameworks)]
    uncalled = {task.query for task in run.queries if task.states_calls and not task.calls}
    if not stages and not any(_unsolved(one, uncalled) for one in run.frameworks):
        return
    rows = [
        (
            one.label,
            str(sum(one.gold_calls.values())),
            *(str(one.gold_calls.get(stage, 0)) for stage in stages),
            str(one.gold_calls.get(USED, 0)),
            *([str(_unsolved(one, uncalled))] if uncalled else []),
        )
        for one in run.frameworks
    ]
    notes = [
        "Each expected call of each trial is counted once, at the first stage that it did not pass. Every lost call, "
        "with its reason, stands in losses.csv.",
        *([f"{UNCALLED}: unsolved trials of tasks that expect no call, and so have none to lose."] if uncalled else []),
        *(f"{reason}: {n} {'call' if n == 1 else 'calls'}" for reason, n in _reasons(run)),
    ]
    yield Table.of(f"{prefix}{LOST}", ("", "expected", *stages, USED, *([UNCALLED] if uncalled else [])), rows, notes)


def _unsolved(framework: PublishedFramework, queries: Collection[str]) -> int:
    return sum(value < 1 for query in queries for value in framework.solved.get(query, ()))


def _reasons(run: RunNumbers) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for framework in run.frameworks:
        for call in framework.lost:
            key = f"{call.stage}, {call.reason}" if len(call.reason) <= LONGEST else call.stage
            found[key] = found.get(key, 0) + 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]


LONGEST, SHOWN = 60, 6


def flips(framework: PublishedFramework) -> int:
    """Return the number of tasks whose repeats do not agree."""
    return sum(len(set(values)) > 1 for values in framework.solved.values())


def by_repeat(framework: PublishedFramework, repeat: int) -> list[float | None]:
    """Return the share that each repeat solves, over the tasks that have it."""
    found: list[float | None] = []
    for place in range(repeat):
        values = [own[place] for own in framework.solved.values() if len(own) > place]
        found.append(fmean(values) if values else None)
    return found


def _spread(framework: PublishedFramework, repeat: int) -> float:
    shares = [share for share in by_repeat(framework, repeat) if share is not None]
    return max(shares) - min(shares) if shares else 0.0


def _noise_sentence(run: RunNumbers) -> Iterator[str]:
    if run.repeat > 1 and run.frameworks:
        widest = max(_spread(one, run.repeat) for one in run.frameworks)
        if points(widest) == points(0):
            yield "The model's noise moves none of these shares: the repeats of each set-up agree."
            return
        yield (
            f"The model alone moves these shares: between the repeats of one set-up, where only the seed differs, they "
            f"differ by up to {points(widest)}."
        )


def _noise(run: RunNumbers, prefix: str) -> Iterator[Table]:
    if run.repeat < 2:
        return
    rows = []
    for one in run.frameworks:
        shares = [UNKNOWN if share is None else percent(share, 1) for share in by_repeat(one, run.repeat)]
        rows.append((one.label, *shares, points(_spread(one, run.repeat)), f"{flips(one)} of {len(one.solved)}"))
    columns = ("", *(f"repeat {place + 1}" for place in range(run.repeat)), "apart", "tasks that changed")
    yield Table.of(
        f"{prefix}The noise of the model by itself",
        columns,
        rows,
        [
            "Repeats of a task differ in the model's seed alone. Where two set-ups send equal requests, they get equal "
            "answers, and this noise is no part of their difference. Where their requests differ, it is: a difference "
            "between them is the framework's only as far as its interval says."
        ],
    )


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
    columns = ("", "tools", "calls", "trials solved", "set-ups: always", "never")
    return Table.of(f"{prefix}{TASKS}", columns, rows)


def losses_of(runs: Sequence[RunNumbers]) -> list[Mapping[str, str | int]]:
    """Return a record for each lost call of all runs."""
    return [
        {
            "run": run.name,
            "framework": one.label,
            "task": call.query,
            "repeat": call.repeat + 1,
            "call": call.call,
            "stage": call.stage,
            "reason": call.reason,
        }
        for run in runs
        for one in run.frameworks
        for call in one.lost
    ]
