"""Check for ``bench plugin check`` whether a plugin loads and fulfils its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed import ScoreDescription
from trialbed.contracts import Executor, Judge, Simulator, ToolSelector
from trialbed.drivers import load_driver
from trialbed.errors import DataError, DriverBroken, DriverNotFound, UsageError
from trialbed.installed import PLUGINS, load_target, offers
from trialbed.models import find_model
from trialbed.plugin_files import MARK, OBJECT, FileMisfit, file_kind, names_file, use_file
from trialbed.plugins import empty_manager, register
from trialbed.records import ModelEndpoint
from trialbed.settings import RunSettings, data_dir
from trialbed.suggestions import closest, did_you_mean
from trialbed.tracebacks import own_line

KINDS: Mapping[str, str] = {
    "scorer": PLUGINS,
    "judge": "judges",
    "selector": "selectors",
    "dataset": "datasets",
    "simulator": "simulators",
    "model": "models",
    "executor": "executors",
}
"""The word for one plugin -> its kind; ``plugins`` have hooks, such as scorers."""

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:9/v1", api_key="none", model="none")
"""An address without a server, for judges that ask a model."""


def _test_sets(made: Any) -> Iterator[Any]:
    driver = made()
    for test_set in driver.test_sets(data_dir()):
        yield test_set
        for query in driver.open(test_set, data_dir()).queries():
            if problem := query.impossible_call:
                raise DataError(f"{test_set}: {problem}")


CHECKS: Mapping[str, tuple[str, Callable[[Any], Any], type]] = {
    PLUGINS: ("describe_scores", lambda module: getattr(module, "describe_scores", list)() or [], ScoreDescription),
    "judges": ("the constructor", lambda made: [made(ENDPOINT if made.needs_model else None, votes=1)], Judge),
    "selectors": ("the constructor", lambda made: [made()], ToolSelector),
    "datasets": ("opening its test sets", _test_sets, str),
    "simulators": ("the constructor", lambda made: [made()], Simulator),
    "models": ("names", lambda made: made().names(RunSettings()), str),
    "executors": ("the constructor", lambda made: [made()], Executor),
}
"""Kind -> what a new instance is asked for, how, and the type of each item of the result."""


@dataclass(frozen=True)
class CheckedPlugin:
    """A plugin that was checked.

    Attributes:
        kind: of driver, or ``plugins``.
        version, distribution: of what brings it; empty if it cannot be loaded.
        problem: how it departs from its contract; empty if it fulfils it.
    """

    name: str
    kind: str = ""
    version: str = ""
    distribution: str = ""
    problem: str = ""


def check_plugin(text: str, word: str | None = None) -> CheckedPlugin:
    """Load a plugin, compare it with its contract, and read the required attributes of a new instance.

    Args:
        text: ``NAME`` of an installed plugin, ``FILE.py`` with hooks, or ``FILE.py:NAME``.
        word: its kind, such as ``judge``, if several have the name.

    Raises:
        DriverNotFound, UsageError: there is no such plugin.
    """
    try:
        kind, name = _find(text, word)
        if kind == OBJECT:
            return _check_object(name)
        offer = next(offer for offer in offers(kind) if offer.name == name)
        if kind == PLUGINS:
            register(empty_manager(), offer)
        thing: Any = load_target(offer.target) if kind == PLUGINS else load_driver(kind, name)
    except (DriverBroken, FileMisfit) as error:
        return CheckedPlugin(text, problem=str(error))
    asked, ask, wanted = CHECKS[kind]
    problem = ""
    try:
        wrong = next((item for item in ask(thing) if not isinstance(item, wanted)), None)
        if wrong is not None:
            problem = f"{asked} gives {wrong!r:.80}, which is not a {wanted.__name__}"
    except Exception as error:  # noqa: BLE001 - of the plugin's own code
        module = str(getattr(thing, "__module__", None) or getattr(thing, "__name__", ""))
        problem = f"{asked} raises {type(error).__name__}: {error!s:.200}{own_line(module, error)}"
    return CheckedPlugin(name, kind, offer.version, offer.distribution, problem)


def _check_object(text: str) -> CheckedPlugin:
    """Check a function or object in a file that is used as a model."""
    try:
        version = find_model(text).describe(RunSettings()).identity[:16]
    except UsageError as error:
        return CheckedPlugin(text, "models", problem=str(error))
    return CheckedPlugin(text, "models", f"{MARK}{version}", Path(text.partition(":")[0]).name)


def _find(text: str, word: str | None) -> tuple[str, str]:
    """Return the kind and the name of a plugin; a file is loaded."""
    kinds = [KINDS[word]] if word else [*KINDS.values()]
    if names_file("judges", text) or names_file(PLUGINS, text):
        kind = kinds[0]
        if names_file("judges", text) and word in (None, "model"):
            named = file_kind(text, KINDS.values())
            if named == OBJECT:
                return named, text
            kind = kind if word else named
        if not names_file(kind, text):
            if kind == PLUGINS:
                raise UsageError(f"{text}: a file of hooks is checked as a whole: {text.partition('.py:')[0]}.py")
            raise UsageError(f"{text}: name the class in it: {text}:NAME")
        return kind, use_file(kind, text).name
    found = [kind for kind in kinds if any(offer.name == text for offer in offers(kind))]
    if not found:
        names = sorted({offer.name for kind in kinds for offer in offers(kind)})
        raise DriverNotFound(f"no plugin is called {text!r}{did_you_mean(closest(text, names))} Files end in .py.")
    if len(found) > 1:
        raise UsageError(f"{text!r} is the name of {' and '.join(found)}: say which with --kind")
    return found[0], text
