"""Sentences on the verdicts of published results: proofs, open questions, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialbed.scoring import JUDGED
from trialbed.texts import number_of
from trialbed_pages.publishing._numbers import PublishedFinding, RunNumbers

BETTER, WORSE, WITHIN, SAME, OPEN = "better", "worse", "within", "same", "open"

REFERENCE = "reference"
"""Trialbed's own loop, which is no framework."""

FORMS = NATIVE, CONTROLLED = ":native", ":controlled"

ByVerdict = Mapping[str, Sequence[PublishedFinding]]


def in_words(names: Sequence[str]) -> str:
    """Return names as one reads them out."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def outcome(run: RunNumbers) -> str:
    """Return the sentence on whether any difference from the baseline is shown; empty where nothing is compared."""
    found = by_verdict(run, "reference")
    every = [one for own in found.values() for one in own]
    if not every:
        return ""
    against = every[0].against
    baseline = f"{against}, Trialbed's own plain loop" if against == REFERENCE else against
    if shown := [f"{words} tasks: {_names(found[kind], run)}" for kind, words in DIRECTIONS.items() if kind in found]:
        return f"Compared with {baseline}, these are shown to solve {'; '.join(shown)}. "
    equal = (
        ""
        if WITHIN in found
        else f"; nor is any shown to be as good, which this run takes to mean less than {_points(run)} of difference "
        "on further tasks too"
    )
    return f"No set-up is shown to solve more or fewer tasks than {baseline}{equal}. "


DIRECTIONS = {BETTER: "more", WORSE: "fewer"}


def shown_and_open(run: RunNumbers) -> Iterator[str]:
    """Yield paragraphs on the proofs and open questions of comparisons with the baseline, and of those of profiles."""
    found, profiles = by_verdict(run, "reference"), by_verdict(run, "profile")
    yield from _paragraphs(run, found)
    if profiles and _figures(profiles) <= _figures(found):
        yield "Between each native set-up and its own controlled form, the differences and intervals are the same."
    elif profiles:
        yield " ".join(["Native against controlled.", *_paragraphs(run, profiles)])


def shows_difference(run: RunNumbers) -> bool:
    """Return whether any set-up is shown to solve more or fewer tasks than the baseline or its other profile."""
    return bool((by_verdict(run, "reference").keys() | by_verdict(run, "profile").keys()) & DIRECTIONS.keys())


def advice(run: RunNumbers) -> str:
    """Return the advice for a reader."""
    first = "before you choose," if shows_difference(run) else "do not choose between the set-ups by these figures;"
    return (
        f"What to do: {first} measure your own model on your own tasks, since other models, and other kinds of tasks, "
        "may give other results."
    )


def by_verdict(run: RunNumbers, kind: str) -> ByVerdict:
    """Return the findings on solved tasks by their verdicts, each that lies within the margin there."""
    found: dict[str, list[PublishedFinding]] = {}
    for one in run.findings:
        if one.kind == kind and one.score == JUDGED:
            found.setdefault(_verdict(one, run.margin), []).append(one)
    return found


def _verdict(finding: PublishedFinding, margin: float) -> str:
    if finding.verdict in DIRECTIONS:
        return finding.verdict
    if -margin < finding.low and finding.high < margin:
        return WITHIN
    return SAME if finding.verdict == "identical" else OPEN


def _figures(found: ByVerdict) -> set[tuple[str, str]]:
    return {(one.framework, one.text) for own in found.values() for one in own}


def _paragraphs(run: RunNumbers, found: ByVerdict) -> Iterator[str]:
    proven = list(_proven(run, found))
    if proven:
        yield f"Proven: {'; '.join(proven)}."
    if SAME in found or OPEN in found:
        yield f"Not proven: {' '.join(_not_proven(run, found))}"


def _proven(run: RunNumbers, found: ByVerdict) -> Iterator[str]:
    for kind, words in DIRECTIONS.items():
        if kind in found:
            named = in_words([f"{one.framework} ({_interval(one)} points)" for one in found[kind]])
            yield f"{named} solve{'s' * (len(found[kind]) == 1)} {words} tasks"
    if WITHIN in found:
        yield f"{_names(found[WITHIN], run)} differ{'s' * (len(found[WITHIN]) == 1)} by less than {_points(run)}"
    if SAME in found:
        only = "only that " if len(found.keys() - {OPEN}) == 1 else ""
        against = {one.against for one in found[SAME]}
        other = against.pop() if len(against) == 1 else "their own controlled forms"
        yield f"{only}{_names(found[SAME], run)} had the same result as {other} in every task asked"


def _not_proven(run: RunNumbers, found: ByVerdict) -> Iterator[str]:
    if SAME in found:
        same = found[SAME][0]
        yield (
            f"that these are equal in further tasks like these, as even {number_of(same.n, 'task')} without a "
            f"difference leave up to {100 * same.high:.0f} points to either side possible."
        )
    if OPEN in found:
        begin = "Nor is it proven whether the others differ" if SAME in found else "whether any differs"
        intervals = in_words([f"{_interval(one)} for {one.framework}" for one in found[OPEN]])
        yield f"{begin}; the 95 % interval of the difference, in points, is {intervals}."
        yield from _enough(run, found[OPEN])


def _enough(run: RunNumbers, undecided: Sequence[PublishedFinding]) -> Iterator[str]:
    """Yield how many tasks would show what, as far as a number would."""
    for shows, words in (("difference", "a difference"), ("equivalence", f"less than {_points(run)}")):
        needed = [one.needed for one in undecided if one.shows == shows and one.needed]
        if needed:
            span = f"{min(needed):,}" if min(needed) == max(needed) else f"{min(needed):,} to {max(needed):,}"
            yield (
                f"About {span} tasks in all would probably show {words} for each of these, if differences go on as "
                "they are."
            )


def _interval(finding: PublishedFinding) -> str:
    return f"{100 * finding.low:+.0f} to {100 * finding.high:+.0f}"


def set_ups(labels: Sequence[str], run: RunNumbers) -> str:
    """Return names of set-ups as one reads them out, three or more that are all of their form by this alone."""
    named = list(labels)
    groups: list[str] = []
    for form in FORMS:
        every = [one.label for one in run.frameworks if one.label.endswith(form)]
        if len(every) > 2 and {*every} <= {*labels}:
            named = [label for label in named if label not in every]
            groups.append(f"the {len(every)} {form.removeprefix(':')} set-ups")
    return in_words([*groups, *named])


def _names(found: Sequence[PublishedFinding], run: RunNumbers) -> str:
    return set_ups([one.framework for one in found], run)


def _points(run: RunNumbers) -> str:
    return f"{100 * run.margin:g} points"
