"""Prices of models, given by the user or by a table that is installed, and budgets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import Budget, Prices, TokenRate
from trialbed.settings import RunSettings
from trialbed.wire.addresses import split_address

TABLE = "genai-prices"
"""The distribution that has the table; the extra ``prices`` installs it."""

AMOUNT = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,6})?) ?(?P<thousands>[kM]?) ?(?P<unit>USD|tokens)")
THOUSANDS = {"": 1, "k": 1_000, "M": 1_000_000}


def read_amount(text: str) -> tuple[float, str]:
    """Read the amount of a budget, and its unit.

    Raises:
        UsageError: it is not an amount of money or tokens above 0.
    """
    found = AMOUNT.fullmatch(text)
    limit = float(found["number"]) * THOUSANDS[found["thousands"]] if found else 0.0
    if not found or not limit:
        raise UsageError(f"--budget: {text!r:.60} is not an amount above 0, such as 5USD, 500ktokens or 2Mtokens")
    return limit, found["unit"]


def read_budget(text: str, model: str, prices: Prices | None) -> Budget:
    """Read the value of ``--budget``.

    Args:
        model: the run's.
        prices: the model's prices, if they are known.

    Raises:
        UsageError: it is not an amount, or it is an amount of money for a model without a known price.
    """
    limit, unit = read_amount(text)
    if unit == "tokens":
        return Budget(limit=limit, unit="tokens")
    if prices is None:
        raise UsageError(
            f"--budget: the price of {model} is not known; give it as --price [NAME=]IN,OUT, install published prices "
            f"({extra_command('prices')}), or set a budget in tokens"
        )
    return Budget(limit=limit, unit="USD", prices=prices)


def given_prices(texts: Iterable[str], model: str) -> dict[str, Prices]:
    """Read all values of ``--price`` by model; prices without a name are this model's.

    Raises:
        UsageError: one is not of the form, or a model has two.
    """
    found: dict[str, Prices] = {}
    for text in texts:
        named, _, numbers = text.rpartition("=")
        name = named or model
        if name in found:
            raise UsageError(f"--price: {name} has two prices; give it one")
        found[name] = read_prices(numbers)
    return found


def model_prices(settings: RunSettings, models: Iterable[str]) -> dict[str, Prices]:
    """Return the known prices of a run's models; scripted models have no prices.

    Raises:
        UsageError: a price given by the user is not of the form.
    """
    found = given_prices(settings.price, settings.model[0])
    for model in models:
        name, own = split_address(model)
        url = own or settings.base_url
        if model not in found and url and (prices := known_prices(name, url)):
            found[model] = prices
    return {name: found[name] for name in models if name in found}


def read_prices(text: str) -> Prices:
    """Read the prices of one model.

    Raises:
        UsageError: they are not of this form.
    """
    parts = text.split(",")
    names = ("input", "output", "cached")[: max(2, len(parts))]
    try:
        rate = TokenRate(**dict(zip(names, map(float, parts), strict=True)))
    except ValueError:
        raise UsageError(
            f"--price: {text!r:.60} is not IN,OUT or IN,OUT,CACHED in US dollars per million tokens; put NAME= in "
            "front for models after the first"
        ) from None
    return Prices(rates=(rate,), source="--price")


def known_prices(model: str, base_url: str) -> Prices | None:
    """Look a model up in the table, among the models of the provider with this endpoint.

    Returns:
        The prices of today. None if the table is not installed or does not know the endpoint or the model, or if the
        price depends on more than the tokens of a request.
    """
    try:
        from genai_prices import Usage, calc_price  # it reads 1.6 MB
    except ImportError:
        return None
    try:
        found = calc_price(Usage(input_tokens=1, output_tokens=1), model, provider_api_url=base_url)
    except (LookupError, ValueError):
        return None
    if getattr(found.model_price, "requests_kcount", None):
        return None
    source = f"{TABLE} {version(TABLE)}, {found.provider.name}: {found.model.id}"
    return _prices(found.model_price, source)


def _prices(table: Any, source: str) -> Prices | None:
    """Return the rates of an entry of the table. Its tiers apply to the whole prompt, like ours."""
    input_, output, cached = table.input_mtok, table.output_mtok, table.cache_read_mtok
    if input_ is None or output is None:
        return None
    known = {"input": input_, "output": output, **({} if cached is None else {"cached": cached})}
    starts = sorted({0, *(tier.start for price in known.values() for tier in getattr(price, "tiers", ()))})
    found = [(start, {name: _at(price, start) for name, price in known.items()}) for start in starts]
    return Prices(rates=tuple(TokenRate(above=start, **rates) for start, rates in found), source=source)


def _at(price: Any, start: int) -> float:
    """Return the price for prompts longer than this."""
    if isinstance(price, Decimal):
        return float(price)
    reached = [tier for tier in price.tiers if tier.start <= start]
    return float(max(reached, key=lambda tier: tier.start).price if start and reached else price.base)
