"""The budget of a run, and the part of it that is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trialbed.contracts import OpenedModel
from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.models import HelperModels, helpers_of
from trialbed.preparation import RunOptions
from trialbed.prices import read_budget
from trialbed.records import Budget, HelperUse, Prices, Run, TokenRate, spent_as
from trialbed.settings import RunSettings
from trialbed.store import Store
from trialbed.wire_log import estimated_usage

FREE = Prices(rates=(TokenRate(input=0, output=0),), source="scripted models ask nobody")


def _prices(run: Run, model: str) -> Prices | None:
    """Return the prices of a run's model; a scripted one is free where none is given."""
    known = run.prices if model == run.config.model else run.model_prices.get(model)
    return known or (FREE if model.startswith("scripted:") else None)


def run_budget(text: str, run: Run) -> Budget:
    """Read the budget of a run, with the prices of all its models.

    Raises:
        UsageError: it is not an amount, or one of money where the price of the run's model is not known.
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
    for judge in (options.judge, *options.judges[1:]):
        asking = HelperModels(replace(options, judge=judge), run)
        found = [own for own in helpers_of(asking.settings) if not (own_judge and own.role == "judge")]
        unpriced += [own.model for own in found if asking.prices(*own[:3]) is None]
    if unpriced and budget.unit == "USD":
        names = ", ".join(dict.fromkeys(unpriced))
        raise UsageError(
            f"--budget: the price of {names} is not known; give it as --price NAME=IN,OUT, get those that "
            f"are published ({extra_command('prices')}), or set a budget in tokens"
        )


def remaining_budget(
    options: RunOptions, run: Run, store: Store, models: Mapping[str, OpenedModel], helpers: HelperModels
) -> Budget:
    """Return the budget of a run, with the part of it that earlier sessions, and helpers of this one, have used.

    Args:
        models: those of the run by name; the server knows them by the names that they are asked by.
    """
    budget = run_budget(options.budget or "", run)
    spent = used_part(budget, store, run, (*run.helpers, *helpers.uses()))
    asked = {model: spent_as(models[model].model, models[model].base_url) for model in run.config.models}
    others = {asked[model]: price for model, price in budget.others.items()}
    return budget.model_copy(update={"spent": spent, "model": asked[budget.model], "others": others})


def used_part(budget: Budget, store: Store, run: Run, helpers: Iterable[HelperUse]) -> float:
    """Return the part of a budget that the attempts so far, and these helpers, have used."""
    return sum(_used_by_models(budget, store, run).values()) + sum(_used_by(budget, use) for use in helpers)


def shares_text(text: str, store: Store, run: Run) -> str:
    """Return how much of a run's budget each of its models and helpers has used, in words; empty where one used all."""
    budget = run_budget(text, run)
    shares = dict(_used_by_models(budget, store, run))
    shares |= {f"{use.role} {use.model}": _used_by(budget, use) for use in run.helpers}
    parts = [f"{name} {budget.text_of(share)}" for name, share in shares.items() if share]
    return f" ({', '.join(parts)})" if len(parts) > 1 else ""


def _used_by_models(budget: Budget, store: Store, run: Run) -> Mapping[str, float]:
    used = dict.fromkeys(run.config.models, 0.0)
    for result in store.each_attempt(run.run_id):
        model = run.config.of(result.key.framework).model
        for call in result.wire.model_calls:
            counts = not call.other_model and call.recorded is None
            if counts and (usage := estimated_usage(call)) is not None:
                used[model] += budget.amount(usage, model)
    return used


def _used_by(budget: Budget, use: HelperUse) -> float:
    return budget.helpers_part(use.usage, use.cost)


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
