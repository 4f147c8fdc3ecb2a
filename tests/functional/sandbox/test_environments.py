"""Workers in frameworks' own environments, whose packages come from wheels: the answers are in them too."""

from __future__ import annotations

import pytest
from support.snooping import FILES, reached

from trialbed.records import Environment

pytestmark = [pytest.mark.slow(60), pytest.mark.packaging]


@pytest.mark.usefixtures("sandbox")
async def test_an_environment_of_its_own_hides_the_answers_too(snoop, new_installation, add_adapter):
    installation = new_installation()
    add_adapter(installation.packages)
    snoop.environments = {"snooping": Environment(python=str(installation.python), lock="")}
    snoop.places["mini"] = str(installation.packages / "trialbed_plugins" / "datasets" / "mini")
    without = await snoop("answers_of_mini", "files_of_mini", "dataset", sandbox=False)
    assert reached(without) == without
    found = await snoop(*FILES, "the_server", "its_own_folder")
    assert set(reached(found)) == {"the_server", "its_own_folder"}
