from __future__ import annotations

import pytest

from trialbed.environments._labels import read_label


def test_a_release_pins_every_package_that_is_released_with_it():
    assert read_label("autogen==0.7.5").pins == (
        "autogen-agentchat==0.7.5",
        "autogen-core==0.7.5",
        "autogen-ext==0.7.5",
    )


def test_a_framework_without_a_release_pins_nothing():
    assert read_label("langgraph").pins == ()


@pytest.mark.parametrize("release", ["1.0.0", "1.1.0", "1.1.4"])
def test_what_a_release_cannot_be_imported_with_is_kept_out(release):
    assert read_label(f"langgraph=={release}").pins == (f"langgraph=={release}", "langgraph-prebuilt<1.0.9")


@pytest.mark.parametrize("release", ["1.1.5", "1.1.10", "1.2.22"])
def test_later_releases_need_no_company(release):
    assert read_label(f"langgraph=={release}").pins == (f"langgraph=={release}",)
