"""The kit for plugins: bundled ones conform, and every check says why it is there."""

from __future__ import annotations

from support.cases import for_each
from support.checked_plugins import failed

from trialbed.installed import offers
from trialbed_adapter_lab.plugin_kit import KINDS, PLUGIN_CHECKS, check_plugin, find_plugin

BUNDLED = [
    (kind, offer.name)
    for kind in ("plugins", "judges", "selectors", "datasets", "simulators", "models")
    for offer in offers(f"trialbed.{kind}")
    if offer.distribution == "trialbed" and offer.name not in ("slow", "local")  # they take long, as they are meant to
]


@for_each("kind, name", BUNDLED)
def test_every_bundled_plugin_conforms(kind: str, name: str) -> None:
    report = check_plugin(find_plugin(name, [kind], chosen=True))
    assert failed(report) == {}
    assert len(report.findings) == len(PLUGIN_CHECKS[kind]) + 1


def test_every_kind_has_checks_that_say_why_and_what_to_do() -> None:
    assert {*KINDS.values()} == {*PLUGIN_CHECKS}
    for checks in PLUGIN_CHECKS.values():
        assert len({one.name for one in checks}) == len(checks) > 5
        assert all(one.summary.endswith(".") and one.reason and one.hint for one in checks)
