"""Plugins, which listen to events: their manager (pluggy)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pluggy

    from trialbed.errors import DriverBroken
    from trialbed.records import ScoreDescription

GROUP = "trialbed.plugins"
PROJECT_DISTRIBUTION = "trialbed"


def empty_manager() -> pluggy.PluginManager:
    """A manager with the hooks and without plugins."""
    import pluggy

    from trialbed import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
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
    for distribution, entry in plugin_entry_points():
        foreign = distribution.name != PROJECT_DISTRIBUTION
        if not own and not foreign:
            continue
        try:
            register(manager, distribution, entry)
        except DriverBroken as error:
            if on_broken is None or not foreign:
                raise
            on_broken(error)
    return manager


def described_scores(manager: pluggy.PluginManager | None = None) -> tuple[dict[str, ScoreDescription], bool]:
    """The scores that plugins describe, by name, and whether every plugin that scores trials does so.

    Args:
        manager: of the plugins that are asked; the installed ones if None.
    """
    manager = manager or plugin_manager(on_broken=lambda _: None)
    found = {score.name: score for described in manager.hook.describe_scores() for score in described}
    describing = {implementation.plugin for implementation in manager.hook.describe_scores.get_hookimpls()}
    scoring = {implementation.plugin for implementation in manager.hook.score_trial.get_hookimpls()}
    return found, scoring <= describing


def register(manager: pluggy.PluginManager, distribution: Distribution, entry: EntryPoint) -> None:
    """Load one plugin and register it under its entry point's name."""
    from trialbed.errors import DriverBroken

    taken = manager.has_plugin(entry.name)
    try:
        manager.register(entry.load(), name=entry.name)
        manager.check_pending()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if manager.has_plugin(entry.name) and not taken:
            # A plugin with a wrong hook stays half registered, and the next one would be blamed for it.
            manager.unregister(name=entry.name)
        raise DriverBroken(
            f"plugin {entry.name!r} of {distribution.name} {distribution.version} cannot be loaded: "
            f"{type(error).__name__}: {error}\nUninstall or update {distribution.name}."
        ) from error


def foreign_plugins() -> frozenset[str]:
    """Return the names of the plugins of other distributions than Trialbed."""
    found = plugin_entry_points()
    return frozenset(entry.name for distribution, entry in found if distribution.name != PROJECT_DISTRIBUTION)


def plugin_entry_points() -> Iterable[tuple[Distribution, EntryPoint]]:
    """Every plugin's entry point with its distribution, each distribution once; imports none."""
    # One pass over file names: asking each distribution for its name would parse the metadata of all.
    for entry in entry_points(group=GROUP):
        if entry.dist is not None:
            yield entry.dist, entry
