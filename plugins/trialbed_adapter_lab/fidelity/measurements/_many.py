"""Trials with many tools: how many arrive."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.records import Limits, Record
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import Order, body, find_changes, match_tools, order_of, sent_tools
from trialbed_adapter_lab.harness import Observed, WorkerHarness, stations

CALLS = 2
"""The first tool on offer is called, and the last one."""

LIMITS = Limits(max_steps=6, timeout=300.0)


class ManyTools(Record):
    """A trial with many tools.

    Attributes:
        offered: tools given. ``sent``: of them in the first request; ``intact``: of those, with name, description
            and schema unaltered. Both None where the log has not the whole body.
        order: in which order they were sent, None likewise.
        request_bytes: of the first request.
        requests: model requests made; ``expected`` of them would be right.
        calls: of the model's two calls, how many reached their Api.
        reason: why figures are missing.
        ended: how the trial failed; empty if it did not.
    """

    offered: int
    sent: int | None = None
    intact: int | None = None
    order: Order | None = None
    request_bytes: int | None = None
    requests: int
    expected: int = CALLS + 1
    calls: int
    reason: str = ""
    ended: str = ""


async def measure_many(harness: WorkerHarness, counts: Sequence[int]) -> tuple[ManyTools, ...]:
    """Offer each of these numbers of tools."""
    return tuple([_read_tools(await harness.run(stations(count, CALLS, limits=LIMITS))) for count in counts])


def _read_tools(seen: Observed) -> ManyTools:
    given = seen.scenario.tools
    asked = {tool.api for tool in given for call in seen.scenario.script if call.name == tool.name}
    found = ManyTools(
        offered=len(given),
        requests=len(seen.requests),
        calls=len(asked & {call.api for call in seen.wire.api_calls}),
        ended=seen.ended,
    )
    if not seen.requests:
        return found.model_copy(update={"reason": seen.ended or "no request reached the model"})
    found = found.model_copy(update={"request_bytes": seen.wire.model_calls[0].request_bytes})
    try:
        tools = sent_tools(body(seen.requests[0]))
    except NotMeasured as reason:
        return found.model_copy(update={"reason": str(reason)})
    partners = match_tools(given, tools)
    intact = sum(not find_changes(tool, partners[tool.name])[0] for tool in given if tool.name in partners)
    order = order_of([tool.name for tool in given], partners, tools)
    return found.model_copy(update={"sent": len(partners), "intact": intact, "order": order})
