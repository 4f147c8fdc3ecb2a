"""Plugins that listen to events, and their manager (pluggy)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from trialbed.installed import PLUGINS, PROJECT_DISTRIBUTION, Offer, load_target, offers

if TYPE_CHECKING:
    import pluggy

    from trialbed.errors import DriverBroken
    from trialbed.listeners import Listeners
    from trialbed.records import ScoreDescription


log = logging.getLogger("trialbed.plugins")

NO_WRAPPERS = "{} is a wrapper, and each plugin is called on its own: leave out wrapper=True and hookwrapper=True"


def empty_manager() -> pluggy.PluginManager:
    """A manager with the hooks and without plugins."""
    import pluggy

    from trialbed import hookspecs
    from trialbed.hook_markers import PROJECT

    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def plugin_manager(
    *, own: bool = True, on_broken: Callable[[DriverBroken], None] | None = None
) -> pluggy.PluginManager:
    """A manager with every installed plugin registered and checked.

    Args:
        own: whether to load the plugins of the main distribution too.
        on_broken: called for every third-party plugin that cannot be used, which is then left out.

    Raises:
        DriverBroken: a plugin cannot be loaded or does not fit the hooks; names distribution and cause.
            For a third-party plugin only without ``on_broken``.
    """
    from trialbed.errors import DriverBroken

    manager = empty_manager()
    for offer in offers(PLUGINS):
        foreign = offer.distribution != PROJECT_DISTRIBUTION
        if not own and not foreign:
            continue
        try:
            register(manager, offer)
        except DriverBroken as error:
            if on_broken is None or not foreign:
                raise
            on_broken(error)
    return manager


def described_scores(manager: pluggy.PluginManager | None = None) -> tuple[dict[str, ScoreDescription], bool]:
    """Return the scores that plugins describe, by name, and whether every plugin that scores trials does so.

    Args:
        manager: of the plugins that are asked; the installed ones if None.
    """
    manager = manager or plugin_manager(on_broken=lambda _: None)
    found = {score.name: score for described in manager.hook.describe_scores() for score in described}
    describing = {implementation.plugin for implementation in manager.hook.describe_scores.get_hookimpls()}
    scoring = {implementation.plugin for implementation in manager.hook.score_trial.get_hookimpls()}
    return found, scoring <= describing


def register(manager: pluggy.PluginManager, offer: Offer) -> None:
    """Load one plugin and register it under its entry point's name."""
    from trialbed.errors import DriverBroken

    taken = manager.has_plugin(offer.name)
    try:
        plugin = load_target(offer.target)
        manager.register(plugin, name=offer.name)
        manager.check_pending()
        if hook := _wrapped_hook(manager, plugin):
            raise TypeError(NO_WRAPPERS.format(hook))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if manager.has_plugin(offer.name) and not taken:
            # A plugin with a wrong hook stays half registered, and the next one would be blamed for it.
            manager.unregister(name=offer.name)
        raise DriverBroken(
            f"plugin {offer.name!r} of {offer.distribution} {offer.version} cannot be loaded: "
            f"{type(error).__name__}: {error}\nUninstall or update {offer.distribution}."
        ) from error


def _wrapped_hook(manager: pluggy.PluginManager, plugin: object) -> str:
    """Return the name of a hook that a plugin wraps; empty if it wraps none."""
    calls = ((one, call.name) for call in manager.get_hookcallers(plugin) or () for one in call.get_hookimpls())
    return next((name for one, name in calls if one.plugin is plugin and (one.wrapper or one.hookwrapper)), "")


def installed_listeners(more: Mapping[str, object] | None = None) -> Listeners:
    """Return the installed plugins; a broken one is named in the log, and left out.

    Args:
        more: name -> a plugin of one run alone.

    Raises:
        UsageError: an installed plugin has the same name.
    """
    from trialbed.errors import UsageError
    from trialbed.listeners import Listeners

    manager = plugin_manager(on_broken=lambda error: log.warning("%s The run continues without it.", error))
    for name, plugin in (more or {}).items():
        if manager.has_plugin(name):
            raise UsageError(f"scorers: an installed plugin is called {name!r}; give yours another name")
        manager.register(plugin, name)
        if hook := _wrapped_hook(manager, plugin):
            raise UsageError(f"scorers: {name!r}: {NO_WRAPPERS.format(hook)}")
    manager.check_pending()
    return Listeners(manager, more or ())
