"""Compare runs in ``bench compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from trialbed.cli.options import FiniteRange, make_option
from trialbed.contracts import Comparer, Comparison

if TYPE_CHECKING:
    from trialbed.report import Conclusion
    from trialbed.report.comparison import RunComparison, Side
    from trialbed.views import Table


class RunComparer(Comparer):
    """Compares runs, by their names in the store or by their result documents: paired differences of every score."""

    contents: ClassVar[str] = "runs (ids, latest, or result documents of bench run)"

    def options(self) -> Sequence[click.Option]:
        """Return the options for finding runs and for judging their differences."""
        margin = make_option(
            "--margin",
            type=FiniteRange(min=0, min_open=True, max=1, max_open=True),
            help="Largest difference of a score that counts as equivalent. [default: 0.05]",
        )
        flags = {
            "--fail-on-regression": "Exit with 1 if a run's verdict on any score is worse.",
            "--fail-on-lost-task": "Exit with 1 if a task is never solved that the baseline always solved.",
            "--allow-incomplete": "Accept runs that lack trials: compare what both have measured.",
        }
        return [margin, *(click.Option([name], is_flag=True, help=text) for name, text in flags.items())]

    def recognises(self, value: str) -> bool:
        """Return whether it is a result document or the id of a run."""
        from trialbed.report.comparison import is_document, is_run_name
        from trialbed.store import run_kind

        if value and Path(value).exists():
            return is_document(Path(value))
        context = click.get_current_context(silent=True)
        store = context.params.get("store") if context else None
        return is_run_name(value) and run_kind(value, store) != "endpoints"

    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        """Compare the sides of the later values with the first value's side of the same framework, or its only one."""
        from trialbed.cli.stored import names_reading
        from trialbed.plugins import described_scores
        from trialbed.records import score_title
        from trialbed.report.comparison import (
            compare_groups,
            comparison_records,
            comparison_tables,
            finding_tests,
            lost_task_lines,
            powerless_notes,
            read_groups,
            regression_lines,
            void_notes,
        )
        from trialbed.settings import MARGIN
        from trialbed.views import html_page

        with names_reading():
            groups = read_groups(values, options["store"])
        # The frameworks of one run are compared as the run itself compares them.
        usual = groups[0][0].margin if len(groups) == 1 else MARGIN
        margin, allow_incomplete = options["margin"] or usual, bool(options.get("allow_incomplete"))
        found = compare_groups(groups, margin, force=options["force"], allow_incomplete=allow_incomplete)
        title, said, described = _title(found), _conclusions(found), described_scores()[0]
        failed = list(void_notes(side for group in groups for side in group))
        if options["fail_on_regression"]:
            failed += regression_lines(found)
            said = replace(said, notes=[*said.notes, *powerless_notes(found)])
        if options.get("fail_on_lost_task"):
            failed += lost_task_lines(found)
        return Comparison(
            document=[one.as_json() for one in found],
            tables=[said, *comparison_tables(found, described)],
            records=comparison_records(found),
            page=lambda: html_page(title, [said, *comparison_tables(found, described, score_title)]),
            tests=list(finding_tests(found)),
            title=title,
            failed=failed if options["fail_on_regression"] or options.get("fail_on_lost_task") else (),
        )


def _title(comparisons: Sequence[RunComparison]) -> str:
    candidates, baselines = (
        ", ".join(dict.fromkeys(side.name for side in sides))
        for sides in zip(*((one.candidate, one.baseline) for one in comparisons), strict=True)
    )
    return f"{candidates} compared with {baselines}"


def _conclusions(comparisons: Sequence[RunComparison]) -> Table:
    """Return the result of each comparison in a sentence; sides with only failed trials come first."""
    from trialbed.views import Table

    baselines = map(_of_baseline, {one.baseline.name: one.baseline for one in comparisons}.values())
    found = [*(one for one in baselines if one.has_only_failed), *filter(None, map(_conclusion, comparisons))]
    said = [*map(str, sorted(found, key=lambda one: not one.has_only_failed)), *map(_causes, comparisons)]
    return Table("", notes=list(dict.fromkeys(filter(None, said))))


def _conclusion(found: RunComparison) -> Conclusion | None:
    from trialbed.report import Conclusion, ScoreMean

    score = next(iter(found.findings), "sopr_score")
    finding = found.findings.get(score)
    if finding is None:
        return None
    return Conclusion(
        found.candidate.name,
        score,
        ScoreMean(finding.candidate_mean, None, finding.n),
        _common(finding.n),
        unsure=found.common.unsure if score == "sopr_score" else 0,
        finding=finding,
        missing=found.candidate.missing,
        measured=int(found.candidate.trials.measured.sum()),
        failures=found.candidate.measured_failures,
    )


def _of_baseline(side: Side) -> Conclusion:
    from trialbed.report import Conclusion

    measured = int(side.trials.measured.sum())
    return Conclusion(side.name, "", None, "", measured=measured, failures=side.measured_failures)


def _causes(found: RunComparison) -> str:
    """Return a sentence if several settings differ, because no difference has a single cause then."""
    from trialbed.report.comparison import DIGESTS, setting_label

    differing = [setting_label(key) for key in found.settings if key not in DIGESTS]
    if found.baseline.about["agent_name"] != found.candidate.about["agent_name"]:
        differing.insert(0, "framework")
    if len(differing) < 2:
        return ""
    listed = f"{', '.join(differing[:-1])} and {differing[-1]}"
    return f"No difference has a single cause, as these differ: {listed}."


def _common(queries: int) -> str:
    from trialbed.texts import number_of

    return number_of(queries, "common task", "common tasks")
