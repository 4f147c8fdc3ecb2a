"""Models by name: which driver a text names, and what is said where there is none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from support.cases import for_each

from trialbed.contracts import ModelDriver, ModelInfo
from trialbed.errors import ContractMismatch, DriverBroken
from trialbed.installed import Offer
from trialbed.models import close_scheme, find_model, installed_model, list_models
from trialbed.settings import RunSettings

SETTINGS = RunSettings()


class Parrots(ModelDriver):
    """Somebody else's."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:
        return ("polly", "ara")

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        return ModelInfo(identity=f"feathers of {name}", needs="a cage")


class OldParrots(Parrots):
    contract = "0"


class Words:
    contract = "1"


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers of somebody else's distribution beside ours."""
    from trialbed import drivers

    ours = drivers.list_drivers("models")
    own = [
        Offer("models", scheme, f"{__name__}:{target.__name__}", "trialbed-birds", "1.0")
        for scheme, target in (("birds", Parrots), ("old", OldParrots), ("words", Words))
    ]
    listed = sorted([*ours, *own], key=lambda info: info.name)
    monkeypatch.setattr(drivers, "list_drivers", lambda kind: listed if kind == "models" else [])
    monkeypatch.setattr("trialbed.models._find.list_drivers", lambda kind: listed)
    classes = {target.__name__: target for target in (Parrots, OldParrots, Words)}
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(**classes))


@for_each(
    ("text", "scheme", "name"),
    [
        ("scripted:gold", "scripted", "gold"),
        ("gpt-4o", "endpoint", "gpt-4o"),
        ("llama3.2:1b", "endpoint", "llama3.2:1b"),
        ("endpoint:scripted:gold", "endpoint", "scripted:gold"),
        ("scripted:", "scripted", ""),
    ],
)
def test_a_text_names_a_driver_and_a_model_of_it(text: str, scheme: str, name: str) -> None:
    found = find_model(text)
    assert (found.driver.scheme, found.name) == (scheme, name)


def test_a_name_from_elsewhere_never_names_a_file_to_run(tmp_path: object) -> None:
    found = installed_model(f"{tmp_path}/model.py:Model")
    assert found.driver.scheme == "endpoint"


def test_a_misspelt_scheme_gets_a_suggestion_and_a_names_own_colon_none() -> None:
    assert close_scheme("scriptd:gold") == "scripted:gold"
    assert close_scheme("llama3.2:1b") is None
    assert close_scheme("gold") is None


@pytest.mark.usefixtures("others")
def test_a_driver_of_others_is_found_listed_and_described() -> None:
    found = find_model("birds:polly")
    assert isinstance(found.driver, ModelDriver)
    assert found.describe(SETTINGS).identity == "feathers of polly"


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(("text", "error"), [("old:x", ContractMismatch), ("words:x", DriverBroken)])
def test_a_driver_of_another_contract_or_none_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        find_model(text)


def test_every_policy_is_listed_and_endpoints_list_nothing_without_an_address() -> None:
    listed = dict(list_models(SETTINGS))
    assert listed["scripted:gold"].deterministic is True
    assert all(name.startswith(("scripted:", "local:", "replay:")) for name in listed)
