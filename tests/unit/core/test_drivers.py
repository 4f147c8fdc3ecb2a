"""Drivers: listed without an import, loaded with the fault named."""

from __future__ import annotations

import configparser
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.drivers import GROUPS, driver_info, list_drivers, load_driver
from trialbed.errors import ContractMismatch, DriverBroken, DriverError, DriverNotFound

FakeDistribution = Callable[..., Path]
ROOT = Path(__file__).parents[3]
AGENT = """
from trialbed import BaseAgent

class Agent(BaseAgent):
    contract = '1'

    def answer(self, query): ...
"""


def framework(fake_distribution: FakeDistribution, name: str, source: str, target: str = "Agent") -> None:
    module = f"{name}_module"
    fake_distribution(
        f"trialbed-{name}",
        "2.5",
        entry_points={"trialbed.frameworks": {name: f"{module}:{target}"}},
        modules={module: source},
    )


def test_every_group_of_the_metadata_is_a_kind_of_driver() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = set(setup["options.entry_points"]) - {"console_scripts", "pytest11", "trialbed.plugins"}
    assert declared <= set(GROUPS.values())


def test_listing_is_sorted_and_names_distribution_and_version() -> None:
    for kind in GROUPS:
        drivers = list_drivers(kind)
        assert [driver.name for driver in drivers] == sorted(driver.name for driver in drivers)
        for driver in drivers:
            assert driver.kind == kind
            assert driver.distribution.startswith("trialbed")
            assert driver.version[0].isdigit()


def test_listing_imports_nothing(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "quiet", "raise RuntimeError('imported')")
    assert "quiet" in [driver.name for driver in list_drivers("frameworks")]
    assert "quiet_module" not in sys.modules


def test_a_driver_is_loaded_by_name(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "fine", AGENT)
    assert load_driver("frameworks", "fine", "1").__name__ == "Agent"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("\nraise RuntimeError('no licence')", "RuntimeError: no licence (File {file}, line 2)"),
        ("import a_module_that_is_not_there", "'a_module_that_is_not_there' (File {file}, line 1)"),
        ("raise SystemExit(4)", "SystemExit: 4 (File {file}, line 1)"),
        ("\n\nx = ", "line 3) (File {file}, line 3)"),
        ("Agnet = 1", "Agent"),
    ],
)
def test_a_broken_driver_is_named_with_distribution_version_target_and_cause(
    fake_distribution: FakeDistribution, source: str, cause: str
) -> None:
    framework(fake_distribution, "bad", source)
    with pytest.raises(DriverBroken) as raised:
        load_driver("frameworks", "bad", "1")
    text = str(raised.value)
    assert "'bad' of trialbed-bad 2.5 cannot be loaded from bad_module:Agent" in text
    spec = importlib.util.find_spec("bad_module")
    assert spec is not None
    assert cause.format(file=f'"{spec.origin}"') in text


def test_an_interruption_is_no_broken_driver(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_driver("frameworks", "slow")


@pytest.mark.parametrize(
    ("source", "stated"), [("class Agent:\n    contract = '0'\n", "'0'"), ("class Agent:\n    contract = '2'\n", "'2'")]
)
def test_another_contract_is_refused_with_both_versions(
    fake_distribution: FakeDistribution, source: str, stated: str
) -> None:
    framework(fake_distribution, "old", source)
    with pytest.raises(ContractMismatch) as raised:
        load_driver("frameworks", "old", "1")
    text = str(raised.value)
    assert f"contract {stated}" in text
    assert "contract '1'" in text
    assert "trialbed-old 2.5" in text


def test_a_driver_without_a_contract_is_told_which_to_state(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "old", "class Agent: ...")
    with pytest.raises(
        ContractMismatch, match=r"no contract; state contract = '3' in old_module:Agent; if .* trialbed\.evaluate\(\)"
    ):
        load_driver("frameworks", "old", "3")


def test_a_function_as_a_framework_is_sent_to_where_functions_are_agents(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "plain", "def Agent(query): ...")
    with pytest.raises(
        ContractMismatch,
        match=r"Agent \(File \".*plain_module\.py\", line 1\) is a function.* trialbed\.evaluate\(\), or run",
    ):
        load_driver("frameworks", "plain", "3")


@for_each(
    ("kind", "name", "said"),
    [
        ("datasets", "minni", r"the dataset 'minni' is not installed; did you mean 'mini'\? Installed: .*mini"),
        ("selectors", "hybrit", r"'hybrit' is not installed; did you mean 'hybrid'\? Installed: .*hybrid"),
        ("executors", "nope", r"'nope' is not installed\. Installed: .*local"),
    ],
)
def test_a_missing_driver_is_named_with_a_suggestion_and_what_is_installed(kind: str, name: str, said: str) -> None:
    with pytest.raises(DriverNotFound, match=said):
        driver_info(kind, name)


def test_advice_is_given_what_is_known_of_the_missing_driver() -> None:
    def advice(*about: object) -> str:
        return f" Advice on {about[:2]}"

    with pytest.raises(DriverNotFound, match=r"did you mean 'remote'\?.* Advice on \('remotes', 'remote'\)"):
        driver_info("executors", "remotes", known=["remote"], advice=advice)


def test_a_name_that_two_distributions_offer_is_refused_with_both(fake_distribution: FakeDistribution) -> None:
    for name in ("one", "two"):
        fake_distribution(
            f"trialbed-{name}",
            entry_points={"trialbed.frameworks": {"same": f"{name}_module:Agent"}},
            modules={f"{name}_module": AGENT},
        )
    with pytest.raises(DriverError, match=r"trialbed-(one|two) 1\.0 and trialbed-(two|one) 1\.0") as raised:
        load_driver("frameworks", "same")
    assert "uninstall one of them" in str(raised.value)


def test_what_is_installed_meanwhile_is_found(fake_distribution: FakeDistribution) -> None:
    assert "late" not in [driver.name for driver in list_drivers("frameworks")]
    framework(fake_distribution, "late", AGENT)
    assert "late" in [driver.name for driver in list_drivers("frameworks")]


def test_of_a_distribution_that_is_there_twice_the_first_one_counts(fake_distribution: FakeDistribution) -> None:
    framework(fake_distribution, "twice", AGENT)
    with pytest.MonkeyPatch.context() as patch:
        newer = Path(sys.path[0]).parent / "newer"
        metadata = newer / "trialbed_twice-9.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: trialbed-twice\nVersion: 9.0\n")
        (metadata / "entry_points.txt").write_text("[trialbed.frameworks]\ntwice = elsewhere:Agent\n")
        patch.syspath_prepend(newer)
        assert driver_info("frameworks", "twice").version == "9.0"
    assert driver_info("frameworks", "twice").version == "2.5"
