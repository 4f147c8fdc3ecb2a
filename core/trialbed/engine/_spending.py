"""The use that helpers make of their models, and the budget of a run."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from trialbed.engine._background import meanwhile
from trialbed.engine._control import ControlClient
from trialbed.errors import NothingMeasured, UsageError
from trialbed.installed import extra_command
from trialbed.models import HelperModels, helpers_of
from trialbed.preparation import RunOptions
from trialbed.prices import read_budget
from trialbed.records import Budget, HelperUse, Prices, Run, TokenRate, TrialKey, TrialResult, Usage, added_uses
from trialbed.store import Store
from trialbed.wire.addresses import split_address
from trialbed.wire_log import estimated_usage

KEPT_EVERY = 5.0
"""Seconds between two times that the use is stored, because a session may be killed."""


@dataclass
class KeptUse:
    """The use of helpers over all sessions of a run.

    Args:
        found: the use that was stored last.
    """

    options: RunOptions
    store: Store
    run: Run
    found: Sequence[HelperUse]
    _served: Sequence[HelperUse] = field(default=(), init=False)

    def so_far(self, helpers: HelperModels) -> tuple[HelperUse, ...]:
        """Return the use in all sessions until now; for simulators and users it is some seconds old."""
        return added_uses(self.run.helpers, [*helpers.uses(), *self._served])

    @asynccontextmanager
    async def keep_within(self, helpers: HelperModels, control: ControlClient) -> AsyncIterator[None]:
        """Keep the use within this context, and once more at its end."""
        try:
            async with meanwhile(self._keep_again(helpers, control)):
                yield
        finally:
            await self._keep(helpers, control)

    async def _keep_again(self, helpers: HelperModels, control: ControlClient) -> None:
        while True:
            await asyncio.sleep(KEPT_EVERY)
            await self._keep(helpers, control)

    async def _keep(self, helpers: HelperModels, control: ControlClient) -> None:
        options = self.options
        models = {"simulator": options.simulator_model, "user": options.user_model}
        if any(models.values()) and options.server_url is None:
            with suppress(NothingMeasured):  # the server has ended, and why is said elsewhere
                asked = await control.helper_uses()
                self._served = [
                    helpers.use_of(role, split_address(models[role] or "")[0], use)
                    for role, use in asked
                    if use.requests or use.cached
                ]
        if (found := self.so_far(helpers)) != self.found:
            self.found = found
            await asyncio.to_thread(partial(self.store.update_run, self.run.run_id, helpers=found))


FREE = Prices(rates=(TokenRate(input=0, output=0),), source="scripted models are free")


def _prices(run: Run, model: str) -> Prices | None:
    """Return the prices of a run's model; a scripted one is free if it has no price."""
    return run.prices.get(model) or (FREE if model.startswith("scripted:") else None)


def run_budget(text: str, run: Run) -> Budget:
    """Read the budget of a run, with the prices of all its models.

    Raises:
        UsageError: it is not an amount, or it is an amount of money and the price of the run's model is not known.
    """
    first, *further = run.config.models
    others = {model: _prices(run, model) for model in further}
    return read_budget(text, first, _prices(run, first)).model_copy(update={"others": others})


def check_budget(options: RunOptions, run: Run, *, own_judge: bool) -> None:
    """See that all prices which the budget of a run needs are known, before a model is asked anything.

    Args:
        own_judge: whether the judge is an object, which has its own model.

    Raises:
        UsageError: one is not; names the models.
    """
    budget = run_budget(options.budget or "", run)
    unpriced = [model for model, prices in budget.others.items() if prices is None]
    asking = HelperModels(options, run)
    found = [own for own in helpers_of(options) if not (own_judge and own.role == "judge")]
    unpriced += [own.model for own in found if asking.prices(*own[:2]) is None]
    if unpriced and budget.unit == "USD":
        names = ", ".join(dict.fromkeys(unpriced))
        raise UsageError(
            f"--budget: the price of {names} is not known; give it as --price NAME=IN,OUT, install published prices "
            f"({extra_command('prices')}), or set a budget in tokens"
        )


class Admission:
    """Lets a trial begin only if the rest of the budget covers its expected use: the mean of its model.

    While nothing is known of what a trial uses, one begins alone. A trial that began may finish.

    Args:
        text: the budget of the run.
        helpers: returns the use of helpers so far, in all sessions.

    Attributes:
        refusal: why no further trial begins; empty while one may.
    """

    def __init__(self, text: str, store: Store, run: Run, helpers: Callable[[], Iterable[HelperUse]]) -> None:
        self._budget, self._run, self._helpers = run_budget(text, run), run, helpers
        self._used, self._ended = _used_by_models(self._budget, store, run)
        self._open: dict[TrialKey, float] = {}
        self._changed = asyncio.Condition()
        self.refusal = ""

    async def admits(self, key: TrialKey) -> bool:
        """Wait until it is known whether the trial may begin, and return that."""
        model = self._run.config.cell(key.framework).model
        async with self._changed:
            await self._changed.wait_for(lambda: not self._open or self._missing(model) <= 0)
            if not self.refusal and self._missing(model) > 0:
                amounts = self._spent(), self._budget.limit, self._expected(model)
                spent, limit, one = map(self._budget.text_of, amounts)
                used = f"{spent} of {limit} are used, and one takes about {one}"
                self.refusal = f"the budget of this run covers no further trial: {used}"
            if self.refusal:
                return False
            self._open[key] = self._expected(model)
            return True

    async def leave(self, key: TrialKey, result: TrialResult | None) -> None:
        """A trial has ended; None if it was given up."""
        async with self._changed:
            del self._open[key]
            if result is not None:
                model = self._run.config.cell(key.framework).model
                self._used[model] += _used_by_trial(self._budget, model, result)
                self._ended[model] += 1
            self._changed.notify_all()

    def _spent(self) -> float:
        return sum(self._used.values()) + sum(map(self._budget.helpers_part, self._helpers()))

    def _expected(self, model: str) -> float:
        known = [model] if self._ended[model] else list(self._ended)
        return sum(self._used[name] for name in known) / max(1, sum(self._ended[name] for name in known))

    def _missing(self, model: str) -> float:
        """Return the amount missing for another trial; infinite while one is open and none has shown its use."""
        if self._open and not any(self._ended.values()):
            return math.inf
        return self._spent() + sum(self._open.values()) + self._expected(model) - self._budget.limit


def _used_by_models(budget: Budget, store: Store, run: Run) -> tuple[dict[str, float], dict[str, int]]:
    """Return the use of each model in all attempts at trials so far, and their number."""
    used, ended = dict.fromkeys(run.config.models, 0.0), dict.fromkeys(run.config.models, 0)
    for result in store.each_attempt(run.run_id):
        model = run.config.cell(result.key.framework).model
        used[model] += _used_by_trial(budget, model, result)
        ended[model] += 1
    return used, ended


def _used_by_trial(budget: Budget, model: str, result: TrialResult) -> float:
    counted = [call for call in result.wire.model_calls if not call.other_model and call.recorded is None]
    used = [usage for call in counted if (usage := estimated_usage(call)) is not None]
    embedded = Usage(prompt_tokens=sum(call.tokens or 0 for call in result.wire.embedding_calls))
    return sum(budget.amount(usage, model) for usage in (*used, embedded))
