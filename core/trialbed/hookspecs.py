"""The hooks of Trialbed, for plugins to listen and add to.

A plugin is a module or object registered under the entry-point group ``trialbed.plugins``; its implementations are
marked with ``trialbed.hookimpl`` and take any subset of a hook's arguments by name::

    from trialbed import Score, hookimpl

    @hookimpl
    def score_trial(context):
        return [Score(name="answer_length", value=float(len(context.answer.final_answer)), bounded=False)]

Arguments are frozen records. Fields can therefore be added without breaking an implementation. Hooks of one family are
together, in the order of a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trialbed.hook_markers import hookspec

if TYPE_CHECKING:
    from trialbed.records import Run, Score, ScoreDescription, TrialResult, TrialSpec
    from trialbed.report import Report
    from trialbed.scoring import ScoreContext

# -- run lifecycle ------------------------------------------------------------------------------------


@hookspec
def run_started(run: Run) -> None:
    """A run has its configuration and its server, and no trial of this session has begun.

    Also called when an interrupted run is resumed.

    .. versionadded:: 0.1
    """


@hookspec
def trial_started(run: Run, spec: TrialSpec) -> None:
    """A trial is about to be handed to a worker.

    .. versionadded:: 0.1
    """


@hookspec
def trial_finished(run: Run, result: TrialResult) -> None:
    """An attempt of a trial has ended, is scored and is committed to the store.

    ``result.status`` says whether it was measured: if it was not, it is attempted again. In a verification, an attempt
    is a case at an endpoint, which has no scores; ``result.verified`` has the findings.

    .. versionadded:: 0.1
    """


@hookspec
def run_finished(run: Run, report: Report) -> None:
    """All trials of a run have ended, or no more can be measured, and its result documents are written.

    ``report.incomplete`` says whether trials were not measured. The report of a verification has no frameworks;
    ``run.endpoints`` has the figures of its endpoints.

    .. versionadded:: 0.1

    Args:
        report: the measurements, framework by framework.
    """


# -- scoring ------------------------------------------------------------------------------------------


@hookspec
def score_trial(context: ScoreContext) -> Iterable[Score] | Awaitable[Iterable[Score]]:  # type: ignore[empty-body]
    """Score one trial without failure; may be ``async``.

    Every implementation is called and all scores are kept. An exception becomes a failed score of the
    plugin's name and harms nothing else. A score without a value has ``value=None`` and a ``failure``.

    Plugins of other distributions score in a process of their own, within a minute of work and 4 GiB for a trial.

    .. versionadded:: 0.1

    Returns:
        The scores; names are unique over all plugins.
    """


@hookspec
def describe_scores() -> Iterable[ScoreDescription]:  # type: ignore[empty-body]
    """Describe the scores that ``score_trial`` returns, with their units and meanings for tables and legends.

    A misspelt ``--fail-under`` is found before a run begins if all plugins that score trials describe their scores;
    otherwise any name is accepted, and looked up when the run has ended. A threshold of a bounded score is from 0 to 1.

    .. versionadded:: 0.2

    Returns:
        A description of each score that a trial may get.
    """


@hookspec
def aggregate_scores(run: Run, results: Sequence[TrialResult]) -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Add figures over all trials of one framework to the ``summary`` of its result document.

    If the hook raises, or returns a figure that is not JSON, the plugin's figures are left out and the error is logged
    under the plugin's name. If two plugins give the same key, the first plugin by name counts, and the log names both.

    .. versionadded:: 0.1

    Args:
        results: the trials of one framework, failed ones too.

    Returns:
        Keys to add; a key that the summary has without plugins is not replaced, and the log says so.
    """
