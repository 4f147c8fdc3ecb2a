"""The models of a run: found by name, and checked before anything is started.

A name is ``SCHEME:NAME`` of an installed driver, ``FILE.py:NAME``, or a name alone, which is an endpoint's. Nothing
outside of a driver asks which one it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from trialbed.contracts import MODEL_CONTRACT, ModelDriver, ModelInfo, OpenedModel
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import UsageError
from trialbed.records import HelperRole, TrialRegistration
from trialbed.settings import RunSettings, is_secret, key_variable, make_folder, model_cache
from trialbed.suggestions import closest, did_you_mean
from trialbed.wire.addresses import is_loopback, split_address
from trialbed.wire.redaction import check_url, shown_url

if TYPE_CHECKING:
    from trialbed.contracts import TrialModel

ENDPOINT = "endpoint"
"""The scheme of names without one. An endpoint's own names may have colons."""

FILE = re.compile(r".+\.py:[^\W\d]\w*")
"""A model that is an object in a file."""


@dataclass(frozen=True)
class FoundModel:
    """A model by its driver and its name there."""

    driver: ModelDriver
    name: str

    def describe(self, settings: RunSettings) -> ModelInfo:
        """As ``ModelDriver.describe``."""
        return self.driver.describe(self.name, settings)

    def open(self, settings: RunSettings) -> AbstractAsyncContextManager[OpenedModel]:
        """As ``ModelDriver.open``."""
        return self.driver.open(self.name, settings)

    def begin(self, registration: TrialRegistration) -> TrialModel | None:
        """As ``ModelDriver.begin``."""
        return self.driver.begin(self.name, registration)


def find_model(text: str) -> FoundModel:
    """Return the driver that a model's text names, and the model's name there; no model is looked up.

    Raises:
        DriverError: the driver is broken.
    """
    if FILE.fullmatch(text):
        from trialbed.models._objects import FileModels  # most models are in no file

        return FoundModel(FileModels(), text)
    return installed_model(text)


def installed_model(text: str) -> FoundModel:
    """As ``find_model``, for texts that may come from another machine: they name no file to run.

    Raises:
        DriverError: the driver is broken.
    """
    scheme, separator, name = text.partition(":")
    if not separator or scheme not in _schemes():
        scheme, name = ENDPOINT, text
    return FoundModel(_driver(scheme), name)


def list_models(settings: RunSettings) -> Iterator[tuple[str, ModelInfo]]:
    """Yield the models that the drivers list, as ``--model`` takes them, each with its description.

    Raises:
        TrialbedError: a driver cannot list its own, or is broken.
    """
    for scheme in _schemes():
        driver = _driver(scheme)
        prefix = "" if scheme == ENDPOINT else f"{scheme}:"
        yield from ((f"{prefix}{name}", driver.describe(name, settings)) for name in driver.names(settings))


def listing_advice() -> Iterator[str]:
    """Yield what keeps a driver from listing models that it could serve."""
    for scheme in _schemes():
        if advice := _driver(scheme).advice():
            yield f"{scheme}: {advice}"


def close_scheme(text: str) -> str | None:
    """Return the model that is probably meant if the scheme is misspelt, or None if no scheme is close."""
    scheme, separator, name = text.partition(":")
    close = closest(scheme, _schemes(), cutoff=0.75) if separator else None
    return f"{close}:{name}" if close and close != scheme else None


def unknown_model(scheme: str, name: str, known: Sequence[str]) -> UsageError:
    """Return the error for a name that a driver does not know, with the names that it knows."""
    close = closest(name, known)
    return UsageError(
        f"there is no {scheme} model {f'{scheme}:{name}'!r}{did_you_mean(close and f'{scheme}:{close}')} "
        f"The {scheme} models are {', '.join(f'{scheme}:{one}' for one in known)}"
    )


def _schemes() -> list[str]:
    return [driver.name for driver in list_drivers("models")]


def _driver(scheme: str) -> ModelDriver:
    driver: ModelDriver = load_driver("models", scheme, MODEL_CONTRACT)()
    driver.scheme = scheme
    return driver


MODEL_JUDGE = "llm"
"""The judge driver that a model's name stands for."""

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
OPENAI_BASE_URL = "OPENAI_BASE_URL"
"""The variable with another address for OpenAI's clients."""

Settings = TypeVar("Settings", bound=RunSettings)


def with_endpoint(settings: Settings, *, own_judge: bool = False, own_model: ModelDriver | None = None) -> Settings:
    """Return the settings with an endpoint for their models, found like OpenAI's clients do if none is set.

    That is ``OPENAI_BASE_URL``, or OpenAI's own address if there is a key for it.

    Args:
        own_judge: whether the judge is an object, which needs no driver and has its own model.
        own_model: the driver of the run's model, if the model is an object.

    Raises:
        UsageError: a model or a judge is not known, an address is not a web address, or a model has no endpoint or no
            key; says what to do.
    """
    if not settings.model or not all(name.strip() for name in settings.model):
        raise UsageError("--model is empty; name a model, such as scripted:gold")
    if not settings.judge or not settings.max_tools:
        raise UsageError("--judge or --max-tools is empty; give a value, or leave it out")
    for url, option in ((settings.base_url, "--base-url"), (settings.server_url, "--server-url")):
        if url is not None:
            check_url(url, option, OPENAI_URL if option == "--base-url" else "http://127.0.0.1:8080")
    check_endpoint_keys(settings)
    real = [("--model", name) for name in settings.model if model_info(name, settings, own_model).at_endpoint]
    for _, option, model in helper_models(settings, own_judge=own_judge):
        name, url = split_address(model)
        # It also refuses invalid addresses, and addresses with a password.
        at_endpoint = _describe(find_model(model), settings, option).at_endpoint
        if option == "--judge" and settings.judge_model is None and (at_endpoint or url):
            _check_judge(name)
        if url is not None:
            _check_key(url, key_variable(settings, url))
        elif at_endpoint:
            real.append((option, model))
        elif option != "--judge":  # its model may be in the gateway
            raise UsageError(f"{option}: {model} plays agents only; name a model of --base-url, or NAME@URL")
    if real and not settings.base_url:
        settings = replace(settings, base_url=_openai(*real[0], settings))
    if real and settings.base_url:
        _check_key(settings.base_url, settings.api_key_env)
    return settings


def judge_choice(settings: RunSettings) -> tuple[str, str | None]:
    """Return the judge's driver and the name of its model, if any.

    Raises:
        UsageError: a judge that asks a model has no model, or two are named.
    """
    judge = settings.judge
    if judge == MODEL_JUDGE or judge in judge_drivers():
        driver = load_driver("judges", judge)
        if getattr(driver, "needs_model", False) and settings.judge_model is None:
            raise UsageError(f"--judge {judge} asks a model: give its name as --judge-model")
        return judge, settings.judge_model
    if settings.judge_model not in (None, judge):
        raise UsageError(
            f"--judge {judge} and --judge-model {settings.judge_model} both name a model; give --judge the "
            f"name of a judge: {', '.join(sorted({*judge_drivers(), MODEL_JUDGE}))}"
        )
    return MODEL_JUDGE, judge


def helper_models(settings: RunSettings, *, own_judge: bool = False) -> Iterator[tuple[HelperRole, str, str]]:
    """Yield the role, the option and the model's name of each helper with a model, the judge first.

    Args:
        own_judge: whether the judge is an object, which has its own model.

    Raises:
        UsageError: as ``judge_choice`` says.
    """
    others: tuple[tuple[HelperRole, str, str | None], ...] = (
        ("judge", "--judge", None if own_judge else judge_choice(settings)[1]),
        ("selector", "--selector-model", settings.selector_model),
        ("simulator", "--simulator-model", settings.simulator_model),
        ("user", "--user-model", settings.user_model),
    )
    yield from ((role, option, model) for role, option, model in others if model is not None)


def check_standing(settings: RunSettings) -> None:
    """See that the judge can be asked without a run's server.

    Raises:
        UsageError: its model answers in a gateway only.
    """
    _, model = judge_choice(settings)
    if model is not None and not is_at_endpoint(model, settings):
        raise UsageError(f"--judge: {model} plays agents only; name a judge, or a model of --base-url")


def run_model(name: str, own: ModelDriver | None = None) -> FoundModel:
    """Return a model of a run.

    Args:
        own: its driver, if the model is an object.
    """
    return find_model(name) if own is None else FoundModel(own, name)


def model_info(name: str, settings: RunSettings, own: ModelDriver | None = None) -> ModelInfo:
    """Describe a model of a run.

    Raises:
        UsageError: there is no such model.
    """
    return _describe(run_model(name, own), settings, "--model")


def is_at_endpoint(model: str, settings: RunSettings) -> bool:
    """Return whether a model is at an endpoint and can be asked outside of trials."""
    return find_model(split_address(model)[0]).describe(settings).at_endpoint


def _describe(model: FoundModel, settings: RunSettings, option: str) -> ModelInfo:
    try:
        return model.describe(settings)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from error


def judge_drivers() -> frozenset[str]:
    """Return the judges with names of their own; any other name is a model's."""
    return frozenset(driver.name for driver in list_drivers("judges")) - {MODEL_JUDGE}


def key_hint(variable: str, models: Iterable[str] = ()) -> str:
    """Return advice for an endpoint that wants a key.

    Args:
        models: the run's; models that name their endpoints use other variables.
    """
    if any(split_address(model)[1] for model in models):
        return "give the key of each host by --endpoint-key-env HOST=VARIABLE, and check that it is the endpoint's"
    if os.environ.get(variable):
        return f"the key in {variable} was sent; check that it is the endpoint's"
    return f"no key was sent: set {variable} in the environment or in .env, or name another variable with --api-key-env"


def _check_judge(judge: str) -> None:
    """Refuse a name that looks like a misspelt judge; any other name may be a model's."""
    close = closest(judge, judge_drivers(), cutoff=0.75)
    if close:
        raise UsageError(f"--judge: there is no judge {judge!r}{did_you_mean(close)}")


def _openai(option: str, model: str, settings: RunSettings) -> str:
    named = os.environ.get(OPENAI_BASE_URL)
    if named:
        check_url(named, OPENAI_BASE_URL, OPENAI_URL)
        if _is_own_server(named, settings):
            raise UsageError(
                f"{option}: {OPENAI_BASE_URL} is {shown_url(named)}, the server of this run, which answers agents; say "
                f"where the model {model!r} is with --base-url URL (base_url=URL in Python)"
            )
        return named
    if os.environ.get(OPENAI_KEY):
        return OPENAI_URL
    others = (
        f". The judges with names of their own are {', '.join(sorted(judge_drivers()))}" if option == "--judge" else ""
    )
    close = close_scheme(model)
    meant = did_you_mean(close) if close else ""
    raise UsageError(
        f"{option}: the model {model!r} needs an endpoint: give --base-url URL (OpenAI-compatible, ending in /v1) or "
        f"set {OPENAI_BASE_URL}, put {OPENAI_KEY} into the environment or .env to use OpenAI's, or use a scripted "
        "model such as scripted:gold"
        f"{others}{meant}"
    )


def _is_own_server(url: str, settings: RunSettings) -> bool:
    """Return whether an address belongs to the server of the run's agents."""
    asked, own = urlsplit(url), urlsplit(settings.server_url or "")
    port = own.port or getattr(settings, "server_port", 0)
    host, own_host = asked.hostname or "", own.hostname or "localhost"
    same_host = host == own_host or (is_loopback(host) and is_loopback(own_host))
    return bool(port) and asked.port == port and same_host


def check_endpoint_keys(settings: RunSettings) -> None:
    """See that each entry of ``endpoint_key_env`` names a host and the variable with its key.

    Raises:
        UsageError: one names none, or a variable that does not look secret.
    """
    for entry in settings.endpoint_key_env:
        host, _, variable = entry.partition("=")
        if not host or not variable or "/" in host:
            raise UsageError(
                f"--endpoint-key-env {entry!r:.80} is not HOST=VARIABLE, such as api.together.xyz=TOGETHER_API_KEY"
            )
        _check_name(variable, f"--endpoint-key-env {entry}")


def _check_name(variable: str, option: str = "") -> None:
    """Refuse a variable without a secret's name, because workers would get it and its value could be stored."""
    if os.environ.get(variable) and not is_secret(variable):
        raise UsageError(
            f"{option or f'--api-key-env {variable}'}: a key is kept from agents, stores and logs only if the name of "
            f"its variable says that it is one; call it {variable}_API_KEY, for example"
        )


def _check_key(base_url: str, variable: str) -> None:
    """Check that a key is kept secret and exists; endpoints other than OpenAI's may work without a key."""
    _check_name(variable)
    if urlsplit(base_url).hostname == urlsplit(OPENAI_URL).hostname and not os.environ.get(variable):
        raise UsageError(f"{base_url} needs a key: {key_hint(variable)}")


OFF = "off"
OPTION = "--model-cache"


def choose_cache(name: str, settings: RunSettings, model: ModelInfo) -> tuple[Path, str] | None:
    """Return the cache in the settings, or the model's default; None for no cache.

    The result is a file and the identity of the model in it. Another model's answers are not found.

    Raises:
        UsageError: the model's answers are not for a cache, its folder cannot be made, or the server is not the run's.
    """
    asked = settings.model_cache
    if asked == OFF or (asked is None and not (model.cached and settings.server_url is None)):
        return None
    if model.cached is False:
        raise UsageError(f"{OPTION}: the answers of {name} are always the same, and are kept in no cache")
    if settings.server_url is not None:
        raise UsageError(f"{OPTION} needs a server of the run's own: leave out --server-url")
    file = model_cache() if asked is None else Path(asked)
    make_folder(file.parent, OPTION)
    where = f" at {shown_url(settings.base_url)}" if model.at_endpoint and settings.base_url else ""
    return file.resolve(), model.identity or f"{name}{where}"
