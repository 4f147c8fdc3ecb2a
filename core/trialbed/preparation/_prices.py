"""The prices of a run: those that the user gives, those that it began with, and those of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trialbed.errors import UsageError
from trialbed.models import helpers_of
from trialbed.preparation._options import RunOptions
from trialbed.prices import given_prices, model_prices
from trialbed.records import Prices, Run, RunConfig
from trialbed.suggestions import closest, did_you_mean


def check_prices(options: RunOptions, *, own_judge: bool = False) -> None:
    """See that each price is that of a model of the run or of its helpers.

    Args:
        own_judge: whether the judge is an object, which has its own model.

    Raises:
        UsageError: one is not, or is not of the form.
    """
    known = dict.fromkeys([options.model, *options.models, *_helper_models(options, own_judge=own_judge)])
    for name in given_prices(options.price, options.model):
        if name not in known:
            close = did_you_mean(closest(name, known))
            raise UsageError(
                f"--price: no model of this run is called {name!r}{close} Prices can be given of {', '.join(known)}"
            )


def _helper_models(options: RunOptions, *, own_judge: bool) -> Iterator[str]:
    for judge in (options.judge, *options.judges):
        own = helpers_of(replace(options, judge=judge))
        yield from (helper.model for helper in own if not (own_judge and helper.role == "judge"))


def prices_of(options: RunOptions, config: RunConfig, found: Run | None) -> tuple[Prices | None, dict[str, Prices]]:
    """Return the prices of a run's first model, and of its others as far as they are known.

    Args:
        found: the run that is continued, whose prices stay as they are.

    Raises:
        UsageError: it began with others than are given now.
    """
    known = model_prices(options, config.models)
    first = known.pop(config.model, None)
    if found is None:
        return first, known
    _check_begun(found, given_prices(options.price, options.model))
    return found.prices, known | found.model_prices


def _check_begun(found: Run, given: dict[str, Prices]) -> None:
    had: dict[str, Prices | None] = dict.fromkeys(found.config.models)
    had |= {use.model: use.prices for use in found.helpers} | found.model_prices | {found.config.model: found.prices}
    changed = [model for model, prices in given.items() if model in had and had[model] != prices]
    if changed:
        raise UsageError(
            f"--price: run {found.run_id} began with other prices of {' and '.join(changed)}, and its costs stay as "
            "they are; --fresh starts again"
        )
