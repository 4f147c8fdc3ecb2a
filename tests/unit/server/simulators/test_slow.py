from __future__ import annotations

import time

from trialbed.records import Api
from trialbed_server.simulators.slow import DELAY, SlowSimulator
from trialbed_server.simulators.template import TemplateSimulator

API = Api(category="Weather", tool_name="Weather Now", api_name="Current", template_response={"sky": "str"})


async def test_the_answer_is_that_of_the_template_and_late() -> None:
    began = time.perf_counter()
    found = await SlowSimulator().simulate(API, "ref", {"city": "Oslo"})
    assert time.perf_counter() - began >= DELAY * 0.99
    assert found == await TemplateSimulator().simulate(API, "ref", {"city": "Oslo"})
    assert SlowSimulator.provenance != TemplateSimulator.provenance
