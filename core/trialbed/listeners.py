"""Call the hooks without letting a failing plugin affect the others."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import pluggy

from trialbed.installed import PLUGINS, PROJECT_DISTRIBUTION, offers
from trialbed.records import Failure, Run, Score, ScoreDescription, TrialResult
from trialbed.scoring import SILENT_SECONDS, RelayedJudge, ScoreContext, ScoringStopped, trial_size
from trialbed.tracebacks import exception_text

if TYPE_CHECKING:
    from trialbed.foreign_code import ForeignCode

log = logging.getLogger("trialbed.plugins")

Hook = Callable[..., Any]


class Elsewhere(Protocol):
    """Scores trials outside of this process."""

    async def score(self, plugin: str, context: ScoreContext) -> Sequence[Score]:
        """Return the scores that a plugin gives."""


class Listeners:
    """The plugins of a run, each called on its own.

    Args:
        manager: of the plugins.
        objects: the names of plugins that are objects of this program. They score only in it, in their own event loops,
            and cannot block the run.

    Attributes:
        elsewhere: scores trials that are not to be scored in this process; None scores all here.
    """

    def __init__(self, manager: pluggy.PluginManager, objects: Collection[str] = ()) -> None:
        self.elsewhere: Elsewhere | None = None
        self._outside: set[str] = set()
        self._notices: ThreadPoolExecutor | None = None
        self._objects: dict[str, ForeignCode] = {}
        if objects:
            from trialbed.foreign_code import ForeignCode  # most runs have plugins of distributions only

            self._objects = {name: ForeignCode(manager.get_plugin(name)) for name in objects}
        self._manager = manager
        self._foreign = {offer.name for offer in offers(PLUGINS) if offer.distribution != PROJECT_DISTRIBUTION}

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a lifecycle hook; a listener's exception is logged under the plugin's name and has no further effect.

        While trials go on, listeners of other packages are called in a thread, one after the other; ``end`` waits for
        them.
        """
        for plugin, caller in self._each(hook):
            if asyncio._get_running_loop() is not None and (plugin in self._foreign or plugin in self._objects):
                self._notices = self._notices or ThreadPoolExecutor(1, "trialbed-hooks")
                self._notices.submit(_notify, hook, plugin, caller, arguments)
            else:
                _notify(hook, plugin, caller, arguments)

    async def score(self, context: ScoreContext) -> tuple[Score, ...]:
        """Return the scores of every plugin; a plugin that fails gives one failed score under its name.

        The first value of a score that lies outside of its bounds is logged, with its task.

        Raises:
            ScoringStopped: the texts of the trial are more than Trialbed's own scorers can read within their limits.
        """
        scores: dict[str, Score] = {}
        for plugin, caller in self._each("score_trial"):
            for score in await self._scores_of(plugin, caller, context):
                if score.name in scores:
                    score = _no_score(plugin, f"the score {score.name!r} is already given by another plugin")
                scores[score.name] = score
                if score.bounded and score.value is not None and not 0 <= score.value <= 1:
                    if score.name not in self._outside:
                        log.warning(
                            "plugin %r: the score %r of task %s is %g, not from 0 to 1, so its mean and interval are "
                            "meaningless; set bounded=False",
                            *(plugin, score.name, context.query.query_id, score.value),
                        )
                    self._outside.add(score.name)
        return tuple(scores.values())

    async def score_by(self, plugin: str, context: ScoreContext) -> list[Score]:
        """Return the scores of one plugin, or raise its exception."""
        return await _given_scores(dict(self._each("score_trial"))[plugin], context)

    async def _scores_of(self, plugin: str, caller: Hook, context: ScoreContext) -> Sequence[Score]:
        foreign = plugin in self._foreign
        try:
            if plugin in self._objects:
                from trialbed.foreign_code import in_this_loop

                # The connections of the judge's model are of this event loop.
                judge = RelayedJudge(in_this_loop(context.judge), context.judge)
                code, asked = self._objects[plugin], replace(context, judge=judge)
                given = await code.do(partial(caller, context=asked), SILENT_SECONDS)
                return cast("list[Score]", await code.wait(partial(_read_scores, given), SILENT_SECONDS))
            # Trialbed's own scorers and judges read every text in linear time: a small one needs no process.
            is_large = trial_size(context.answer, context.wire) == "large"
            if self.elsewhere is None or not (foreign or is_large):
                return await _given_scores(caller, context)
        except Exception as error:  # noqa: BLE001 - a scorer is foreign code: its fault becomes its score's failure
            return [_no_score(plugin, exception_text(error, self._manager.get_plugin(plugin)))]
        try:
            return await self.elsewhere.score(plugin, context)
        except ScoringStopped as stopped:
            if not foreign:
                raise
            return [
                _no_score(plugin, f"it {stopped} on this trial, and was stopped; the other scores are not affected")
            ]
        except RuntimeError as error:
            return [_no_score(plugin, str(error))]

    def end(self) -> None:
        """Wait for hooks, and end the event loops of the plugins that are objects."""
        if self._notices is not None:
            self._notices.shutdown()
            self._notices = None
        for code in self._objects.values():
            code.end()

    def hears(self, hook: str) -> bool:
        """Return whether any plugin has the hook."""
        return bool(self._each(hook))

    def aggregate(self, run: Run, results: Iterable[TrialResult]) -> Mapping[str, Any]:
        """Return the plugins' additions to a summary; failures are logged under the plugin's name and left out.

        If two plugins give the same key, the first by name has it; the log names both.
        """
        extra: dict[str, tuple[str, Any]] = {}
        callers = self._each("aggregate_scores")
        given = list(results) if callers else []
        for plugin, caller in callers:
            try:
                figures = dict(caller(run=run, results=given) or {})
                json.dumps(figures)
            except Exception:
                log.exception("plugin %r failed in aggregate_scores; its figures are skipped", plugin)
                continue
            for key, figure in figures.items():
                owner, _ = extra.setdefault(key, (plugin, figure))
                if owner != plugin:
                    log.error("plugins %r and %r both give the summary's key %r; the first counts", owner, plugin, key)
        return {key: figure for key, (_, figure) in extra.items()}

    def descriptions(self) -> Mapping[str, ScoreDescription]:
        """Return the scores that plugins describe, by name; a failure of a plugin is logged under its name."""
        found: dict[str, ScoreDescription] = {}
        for plugin, caller in self._each("describe_scores"):
            try:
                found |= {score.name: score for score in caller() or ()}
            except Exception:
                log.exception("plugin %r failed in describe_scores; its descriptions are skipped", plugin)
        return found

    def _each(self, hook: str) -> list[tuple[str, Hook]]:
        """Return each plugin that has a hook, by name, with its function, which takes every argument by its name."""
        found = getattr(self._manager.hook, hook).get_hookimpls()
        return sorted(((one.plugin_name, partial(_call, one)) for one in found), key=lambda pair: pair[0])


def _call(found: pluggy.HookImpl, **arguments: Any) -> Any:
    return found.function(*(arguments[name] for name in found.argnames))


def _notify(hook: str, plugin: str, caller: Hook, arguments: Mapping[str, Any]) -> None:
    try:
        caller(**arguments)
    except Exception:
        log.exception("plugin %r failed in %s", plugin, hook)


async def _given_scores(caller: Hook, context: ScoreContext) -> list[Score]:
    hooked = partial(caller, context=context)
    return await _read_scores(await asyncio.to_thread(hooked) if context.answer.is_long else hooked())


async def _read_scores(given: Any) -> list[Score]:
    given = (await given if inspect.isawaitable(given) else given) or ()
    scores = list(given)
    if not all(isinstance(score, Score) for score in scores):
        raise TypeError(f"score_trial must return a list of trialbed.Score, not {given!r:.80}")
    return scores


def _no_score(plugin: str, message: str) -> Score:
    failure = Failure(kind="scorer", message=f"{plugin}: {message}")
    return Score(name=f"{plugin}:failed", value=None, quality=False, failure=failure)
