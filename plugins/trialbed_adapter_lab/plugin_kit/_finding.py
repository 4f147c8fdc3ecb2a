"""Find the plugin that a user names: an installed one, or one in a file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from trialbed.drivers import load_driver
from trialbed.errors import DriverNotFound, UsageError
from trialbed.installed import PLUGIN_GROUP, Offer, offers
from trialbed.plugin_files import PLUGINS, file_kind, names_file, use_file
from trialbed.plugins import empty_manager, register
from trialbed.suggestions import closest, did_you_mean
from trialbed_adapter_lab.plugin_kit._check import PluginSubject


def find_plugin(text: str, kinds: Collection[str], *, chosen: bool = False) -> PluginSubject:
    """Return the plugin, loaded and compared with its contract.

    Args:
        text: ``NAME``, ``NAME:PART`` for a test set or a model, ``FILE.py``, ``FILE.py:NAME`` or ``FILE.py:NAME:PART``.
        kinds: those that it may be of.
        chosen: whether the user chose the kind.

    Raises:
        DriverError, UsageError: there is none, it cannot be loaded, or does not fit its contract.
    """
    if names_file("judges", text) or names_file(PLUGINS, text):
        kind = next(iter(kinds)) if chosen else file_kind(text, kinds)
        _check_form(kind, text)
        file = use_file(kind, text)
        return _subject(kind, file.name, file.rest.removeprefix(":"))
    name, _, part = text.partition(":")
    found = [kind for kind in kinds if any(offer.name == name for offer in _offers(kind))]
    if not found:
        names = sorted({offer.name for kind in kinds for offer in _offers(kind)})
        raise DriverNotFound(f"no plugin is called {name!r}{did_you_mean(closest(name, names))} Files end in .py.")
    if len(found) > 1:
        raise UsageError(f"{name!r} is the name of {' and '.join(found)}: say which with --kind")
    return _subject(found[0], name, part)


def _check_form(kind: str, text: str) -> None:
    """See that a file with hooks is named as it is, and any other one with the class in it."""
    if names_file(kind, text):
        return
    if kind == PLUGINS:
        raise UsageError(f"{text}: hooks are a file as a whole: {text.partition('.py:')[0]}.py")
    raise UsageError(f"{text}: name the class in it: {text}:NAME")


def _offers(kind: str) -> list[Offer]:
    return offers(PLUGIN_GROUP if kind == PLUGINS else f"trialbed.{kind}")


def _subject(kind: str, name: str, part: str) -> PluginSubject:
    offer = next(offer for offer in _offers(kind) if offer.name == name)
    thing: Any
    if kind == PLUGINS:
        register(empty_manager(), offer)
        thing = offer.load()
    else:
        thing = load_driver(kind, name)
    return PluginSubject(kind, name, thing, offer.version, offer.distribution, part)
