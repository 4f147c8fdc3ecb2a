"""The columns of a run with several models, temperatures or numbers of tools: its frameworks with other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product

from trialbed.contracts import ModelInfo
from trialbed.errors import UsageError
from trialbed.models import check_standing, model_info, with_endpoint
from trialbed.preparation._options import RunOptions
from trialbed.records import SETTINGS, Variation
from trialbed.texts import decimal_text
from trialbed.wire.addresses import short_address, split_address


def with_factors(options: RunOptions, own_model: object = None, own_judge: object = None) -> RunOptions:
    """Return the options with the first of several models, temperatures, numbers of tools and judges as their own.

    Raises:
        UsageError: there are several models or judges, and one is an object.
    """
    models, temperatures = tuple(dict.fromkeys(options.models)), tuple(dict.fromkeys(options.temperatures))
    judges, limits = tuple(dict.fromkeys(options.judges)), tuple(dict.fromkeys(options.tool_limits))
    if models and own_model is not None:
        raise UsageError("models: give models by name; an object is the only model of a run")
    if judges and own_judge is not None:
        raise UsageError("judges: give judges by name; an object is the only judge of a run")
    return replace(
        options,
        models=models,
        temperatures=temperatures,
        tool_limits=limits,
        judges=judges,
        judge=judges[0] if judges else options.judge,
        model=models[0] if models else options.model,
        temperature=temperatures[0] if temperatures else options.temperature,
        max_tools=limits[0] if limits else options.max_tools,
    )


def with_endpoints(options: RunOptions) -> RunOptions:
    """Return the options with an endpoint for every further model and judge, as the first ones have.

    Raises:
        UsageError: as ``with_endpoint`` says, or a further judge cannot be asked without the run's server.
    """
    for judge in options.judges[1:]:
        options = replace(with_endpoint(replace(options, judge=judge)), judge=options.judge)
        check_standing(replace(options, judge=judge))
    for model in options.models[1:]:
        options = replace(with_endpoint(replace(options, model=model)), model=options.model)
    return options


def variations_of(
    options: RunOptions, frameworks: Iterable[str], told_as: Callable[[RunOptions, ModelInfo], str | None]
) -> dict[str, Variation]:
    """Return the columns with settings of their own, by label, beside those of the frameworks themselves.

    Args:
        told_as: gives the name under which frameworks know a model, where it is not the usual one.
    """
    models, temperatures = options.models or (options.model,), options.temperatures or (options.temperature,)
    limits = options.tool_limits or (options.max_tools,)
    # Models in columns: with the host of their endpoint alone, unless another has that name.
    names = {model: model for model in models[1:] if split_address(model)[1] is None}
    for model in models[1:]:
        short = short_address(model)
        names.setdefault(model, model if short in names.values() else short)
    found: dict[str, Variation] = {}
    # The first combination is the run's own.
    for model, temperature, most in list(product(models, temperatures, limits))[1:]:
        own = replace(options, model=model, temperature=temperature, max_tools=most)
        info = model_info(own)
        settings = [names[model]] if model != options.model else []
        if temperature not in (options.temperature, None):
            settings.append(f"temperature={decimal_text(temperature)}")
        if most != options.max_tools:
            settings.append(f"max_tools={most}")
        for framework in frameworks:
            found[f"{framework}{SETTINGS}{','.join(settings)}"] = Variation(
                framework=framework,
                model=model,
                model_identity=info.identity,
                told_as=told_as(own, info),
                temperature=temperature,
                max_tools=None if most == options.max_tools else most,
            )
    return found


def spread(values: Mapping[str, str], variations: Mapping[str, Variation]) -> dict[str, str]:
    """Return values of frameworks, for their columns too."""
    return {**values, **{label: values[own.framework] for label, own in variations.items() if own.framework in values}}
