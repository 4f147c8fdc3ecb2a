"""The comparer of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from trialbed.contracts import Comparer, Comparison
from trialbed.errors import UsageError

if TYPE_CHECKING:
    import click

    from trialbed.comparison._sides import Side


class RunComparer(Comparer):
    """Compares runs, by their names in the store or by their result documents: paired differences of every score."""

    contents: ClassVar[str] = "runs (ids, latest, or result documents of bench run)"

    def options(self) -> Sequence[click.Option]:
        """Options that say where to look runs up, and how to judge their differences."""
        from trialbed.cli.options import SingleOption, make_option
        from trialbed.cli.setting_options import option_list
        from trialbed.comparison._preference import setting_names

        return [
            make_option("--store", metavar="FILE|URL", help="Where runs are kept. [default: .trialbed/trialbed.db]"),
            SingleOption(
                ["--fail-on-regression"], is_flag=True, help="Exit with 1 if a run's verdict on any score is worse."
            ),
            SingleOption(
                ["--allow-incomplete"],
                is_flag=True,
                help="Accept runs that lack trials: compare what both have measured.",
            ),
            SingleOption(
                ["--preference"],
                is_flag=True,
                help="Have --judge say which of two answers to each query is better, instead of comparing scores.",
            ),
            *option_list(setting_names()),
        ]

    def recognises(self, value: str) -> bool:
        """Whether it is a result document or the id of a run."""
        from trialbed.comparison._sides import document_file, is_document, is_run_name

        path = document_file(value)
        return is_run_name(value) if path is None else is_document(path)

    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        """Compare the sides of the later values with the first value's side of the same framework, or its only one."""
        if options.get("preference"):
            from trialbed.comparison._preference import compare_by_preference

            return compare_by_preference(values, options)
        from trialbed.comparison._differences import CompareOptions, compare
        from trialbed.comparison._findings import HEADLINE
        from trialbed.comparison._ranks import open_ranks
        from trialbed.comparison._sides import read_sides, told_apart
        from trialbed.comparison._tables import comparison_records, comparison_tables
        from trialbed.run_settings import MARGIN

        how = CompareOptions(
            margin=options["margin"] or MARGIN,
            force=options["force"],
            resamples=options["resamples"],
            seed=options["seed"],
            allow_incomplete=bool(options.get("allow_incomplete")),
        )
        groups = [read_sides(value, options["store"]) for value in values]
        documents = [compare(baseline, candidate, how) for baseline, candidate in _pairs(groups)]
        every = told_apart([side for group in groups for side in group])
        # A score that cannot be compared between some of them ranks none, and so do figures over different queries.
        is_complete = not any(side.missing for side in every)
        shared = [
            name for name in HEADLINE if is_complete and all(name in document["findings"] for document in documents)
        ]
        ranks = open_ranks(every, how.margin, shared)
        for document in documents:
            document["ranks"] = {
                score: {name: list(rank) for name, rank in own.items()} for score, own in ranks.items()
            }
        return Comparison(
            document=documents,
            tables=comparison_tables(documents),
            records=comparison_records(documents),
            failed=list(_regressions(documents)) if options["fail_on_regression"] else (),
        )


def complete_sides(value: str, store: str | None) -> list[Side]:
    """The sides of a run or a result document that has all of its trials.

    Raises:
        UsageError, DataError: trials are missing, or it cannot be found.
    """
    from trialbed.comparison._differences import check_complete
    from trialbed.comparison._sides import read_sides

    sides = read_sides(value, store)
    check_complete(sides, allowed=False)
    return sides


def regressions(baseline: Sequence[Side], documents: Sequence[Mapping[str, Any]], margin: float) -> list[str]:
    """What is worse in the documents of a run than in a baseline, a line for each framework and score.

    Raises:
        UsageError: they cannot be compared, such as over different datasets.
    """
    from trialbed.comparison._differences import CompareOptions, compare
    from trialbed.comparison._sides import document_side

    # The figures of a run that lacks trials were accepted by --allow-incomplete, or its exit code tells.
    how = CompareOptions(margin=margin, allow_incomplete=True)
    pairs = _pairs([baseline, [document_side(document) for document in documents]])
    return list(_regressions([compare(first, second, how) for first, second in pairs]))


def _regressions(documents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for document in documents:
        for score, finding in document["findings"].items():
            if finding["verdict"] == "worse":
                names = f"{document['candidate']['name']} is worse than {document['baseline']['name']}"
                interval = f"{finding['difference']:.4f} [{finding['low']:.4f}, {finding['high']:.4f}]"
                yield f"{names}: {score} differs by {interval} over {finding['n']} queries"


def _pairs(groups: Sequence[Sequence[Side]]) -> Iterator[tuple[Side, Side]]:
    """Baseline and candidate of each comparison.

    Raises:
        UsageError: there is only one side, a framework of a later run is not in a first run of several, or both sides
            would be the same trials.
    """
    from trialbed.comparison._sides import are_same_trials, told_apart

    first, *others = groups
    if not others:
        if len(first) < 2:
            raise UsageError(
                f"{first[0].source} has results of {first[0].name} only; name another run to compare it with"
            )
        yield from ((first[0], candidate) for candidate in first[1:])
        return
    for candidate in (side for group in others for side in group):
        same = [side for side in first if side.name == candidate.name] or (first if len(first) == 1 else [])
        if not same:
            raise UsageError(
                f"{candidate.source} has results of {candidate.name}, but {first[0].source} only of "
                f"{', '.join(side.name for side in first)}; compare result documents, each of one framework"
            )
        if are_same_trials(same[0], candidate):
            raise UsageError(
                f"{same[0].source} and {candidate.source} are the same trials: those of {candidate.name} in run "
                f"{candidate.about['run_id']}; name another run (`bench runs` lists them), or one run alone to compare "
                "its frameworks"
            )
        baseline, named = told_apart([same[0], candidate])
        yield baseline, named
