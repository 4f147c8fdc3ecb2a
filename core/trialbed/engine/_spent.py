"""The budget of a run, and the part of it that is used."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.engine._helpers import helpers_of
from trialbed.prices import read_budget
from trialbed.records import Budget, HelperUse, Run
from trialbed.settings import RunSettings
from trialbed.store import Store
from trialbed.wire_log import estimated_usage


def run_budget(text: str, run: Run) -> Budget:
    """Read the budget of a run, with the prices of all its models.

    Raises:
        UsageError: it is not an amount, or one of money where the price of the run's model is not known.
    """
    others = {model: run.model_prices.get(model) for model in run.config.models[1:]}
    return read_budget(text, run.config.model, run.prices).model_copy(update={"others": others})


def used_part(budget: Budget, store: Store, run: Run, helpers: Iterable[HelperUse]) -> float:
    """Return the part of a budget that the attempts so far, and these helpers, have used."""
    trials = sum(
        budget.amount(usage, run.config.of(result.key.framework).model)
        for result in store.each_attempt(run.run_id)
        for call in result.wire.model_calls
        if not call.other_model and call.recorded is None and (usage := estimated_usage(call)) is not None
    )
    return trials + sum(budget.helpers_part(use.usage, use.cost) for use in helpers)


def judge_refusal(text: str | None, settings: RunSettings, store: Store, run: Run) -> str | None:
    """Return why the judge of these settings is not asked after the trials of a run; None where it may be.

    Args:
        text: the budget of the run; one that is used up leaves judges that ask no model.
    """
    if text is None or not any(helper.role == "judge" for helper in helpers_of(settings)):
        return None
    budget = run_budget(text, run)
    spent = used_part(budget, store, run, run.helpers)
    if spent < budget.limit:
        return None
    return f"the budget of this run is used up: {budget.text_of(spent)} of {budget.text_of(budget.limit)}"
