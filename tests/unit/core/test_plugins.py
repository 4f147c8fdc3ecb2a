"""Plugins: found by metadata, checked when registered, blamed by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trialbed.errors import DriverBroken, UsageError
from trialbed.hook_markers import hookimpl
from trialbed.plugins import described_scores, empty_manager, installed_listeners, plugin_manager

FakeDistribution = Callable[..., Path]

UNKNOWN_HOOK = "from trialbed import hookimpl\n\n@hookimpl\ndef no_such_hook(run):\n    pass\n"
UNKNOWN_ARGUMENT = "from trialbed import hookimpl\n\n@hookimpl\ndef run_started(weather):\n    pass\n"
WRAPPER = "from trialbed import hookimpl\n\n@hookimpl(wrapper=True)\ndef run_started(run):\n    return (yield)\n"
OLD_WRAPPER = "from trialbed import hookimpl\n\n@hookimpl(hookwrapper=True)\ndef score_trial(context):\n    yield\n"


def plugin(fake_distribution: FakeDistribution, name: str, source: str, version: str = "1.0") -> None:
    module = name.replace("-", "_") + "_module"
    fake_distribution(name, version, entry_points={"trialbed.plugins": {name: module}}, modules={module: source})


def test_every_hook_has_a_manual_and_a_version() -> None:
    manager = empty_manager()
    callers = manager.hook.__dict__
    hooks = [caller for name, caller in callers.items() if not name.startswith("_")]
    assert len(hooks) >= 7
    for caller in hooks:
        text = caller.spec.function.__doc__ or ""
        assert ".. versionadded:: " in text, caller.name
        assert caller.spec.function.__annotations__["return"], caller.name


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("import a_module_that_is_not_there", "ModuleNotFoundError"),
        ("raise SystemExit(4)", "SystemExit: 4"),
        (UNKNOWN_HOOK, "no_such_hook"),
        (UNKNOWN_ARGUMENT, "weather"),
        (WRAPPER, "run_started is a wrapper, and each plugin is called on its own"),
        (OLD_WRAPPER, "score_trial is a wrapper"),
    ],
)
def test_a_broken_plugin_is_named_with_its_distribution_version_and_cause(
    fake_distribution: FakeDistribution, source: str, cause: str
) -> None:
    plugin(fake_distribution, "bad-one", source, "0.7")
    with pytest.raises(DriverBroken) as raised:
        plugin_manager(own=False)
    text = str(raised.value)
    assert "'bad-one' of bad-one 0.7" in text
    assert cause in text
    assert "Uninstall or update bad-one." in text


def test_an_object_that_wraps_a_hook_is_refused() -> None:
    class Wrapping:
        @hookimpl(wrapper=True)
        def score_trial(self, context: object) -> Iterator[None]:
            return (yield)

    with pytest.raises(UsageError, match="'mine': score_trial is a wrapper, and each plugin is called on its own"):
        installed_listeners({"mine": Wrapping()})


def test_an_interruption_while_a_plugin_is_imported_is_an_interruption(fake_distribution: FakeDistribution) -> None:
    plugin(fake_distribution, "slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        plugin_manager(own=False, on_broken=lambda error: None)


SCORES = "from trialbed import hookimpl\n\n@hookimpl\ndef score_trial(context):\n    return []\n"
DESCRIBES = f"""{SCORES}
from trialbed import ScoreDescription

@hookimpl
def describe_scores():
    return [ScoreDescription('boot_time', unit='ms', bounded=False)]
"""


def test_the_scores_of_plugins_that_describe_them_are_known(fake_distribution: FakeDistribution) -> None:
    plugin(fake_distribution, "polite", DESCRIBES)
    names, complete = described_scores()
    assert names.keys() > {"boot_time", "sopr_score"}
    assert [names[name].label for name in ("boot_time", "total_tokens")] == ["boot_time, ms", "tokens"]
    assert complete
