"""The checks of a simulator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, cast

from trialbed.contracts import ApiRefused, Simulation, Simulator, World
from trialbed.errors import SimulationError
from trialbed.own_thread import StuckCode
from trialbed.records import Api, Json
from trialbed_adapter_lab.conformance import expect, must
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import CheckFailed, NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_json, expect_kind
from trialbed_adapter_lab.plugin_kit._samples import STRANGE, model_that_says, sample_queries

WRONG: tuple[dict[str, Json], ...] = (
    {},
    {"nobody": 1},
    {"city": {"a": [None]}},
    {"city": STRANGE},
    {"city": "x" * 100_000},
)
AT_ONCE = 20
REPLY = '{"error": "", "response": "sample"}'
"""The reply of the model of a simulator that needs one."""


def _make(subject: PluginSubject) -> Simulator:
    simulator = cast("Simulator", subject.thing())
    if subject.thing.needs_model:
        simulator.model = model_that_says(lambda: REPLY)
    return simulator


def _calls() -> Iterator[tuple[Api, dict[str, Json]]]:
    """Yield Apis, each with arguments that fit it."""
    for query in sample_queries():
        apis = {api.ref: api for api in query.apis}
        yield from ((apis[call.api], dict(call.arguments or {})) for call in query.gold_calls)


async def _answer(subject: PluginSubject, simulator: Simulator, api: Api | None, arguments: dict[str, Json]) -> Any:
    """The answer; None where the simulator has none, and says so."""
    ref = api.ref.title if api else "Nowhere/none/none"
    what = f"an answer to {ref} for {show(arguments)}, or a SimulationError"
    try:
        found = await subject.call(what, simulator.simulate, api, ref, arguments, allowed=(SimulationError,))
    except SimulationError as error:
        expect(bool(str(error).strip()), "a SimulationError that says why", "an empty text")
        return None
    expect_kind(f"the answer to {ref}", found, Simulation)
    return found


@must(
    reason="A trial with such a call would not be measured.",
    hint="Return a Simulation; raise SimulationError where there is no answer.",
)
async def fitting_calls_are_answered(subject: PluginSubject) -> None:
    """A call that fits its Api is answered, or is a SimulationError that says why."""
    simulator = _make(subject)
    for api, arguments in _calls():
        await _answer(subject, simulator, api, arguments)


@must(
    reason="Such a call is an error of the Api, and not of the rig.",
    hint="Return within the time whatever the arguments are.",
)
async def wrong_calls_end(subject: PluginSubject) -> None:
    """Arguments that do not fit, strange and long ones, and an unknown Api end in an answer or an error."""
    simulator = _make(subject)
    api = next(_calls())[0]
    for arguments in WRONG:
        await _ends(subject, simulator, api, dict(arguments))
    await _ends(subject, simulator, None, {"a": 1})


async def _ends(subject: PluginSubject, simulator: Simulator, api: Api | None, arguments: dict[str, Json]) -> None:
    ref = api.ref.title if api else "Nowhere/none/none"
    try:
        await subject.call(f"an end of {ref}", simulator.simulate, api, ref, arguments, allowed=(Exception,))
    except StuckCode as stuck:
        raise CheckFailed(f"expected {ref} for {show(arguments)} to end; seen: {stuck}") from stuck
    except Exception:  # noqa: BLE001 - it is an error of the Api
        return


@must(
    reason="Two frameworks that make one call must be answered alike.",
    hint="Derive what is invented from the Api and the arguments.",
)
async def equal_calls_are_answered_equally(subject: PluginSubject) -> None:
    """Equal calls have equal answers: again, after other calls, of a new instance."""
    simulator, calls = _make(subject), [*_calls()]
    first = [await _answer(subject, simulator, api, dict(arguments)) for api, arguments in calls]
    for again in (simulator, _make(subject)):
        for (api, arguments), wanted in reversed([*zip(calls, first, strict=True)]):
            found = await _answer(subject, again, api, dict(arguments))
            expect(found == wanted, f"{api.ref.title} answered with {show(_text(wanted))} again", show(_text(found)))


def _text(answer: Simulation | None) -> Json:
    return None if answer is None else answer.response or answer.error


@must(reason="It is stored, and sent to agents.", hint="Return texts, numbers, lists and mappings.")
async def answers_are_json(subject: PluginSubject) -> None:
    """The answer is JSON, without NaN."""
    simulator = _make(subject)
    for api, arguments in _calls():
        found = await _answer(subject, simulator, api, arguments)
        expect_json(f"the answer of {api.ref.title}", None if found is None else found.response)


@must(reason="The trial keeps them.", hint="Copy what you change.")
async def arguments_stay_as_they_are(subject: PluginSubject) -> None:
    """It changes nothing of the arguments."""
    simulator = _make(subject)
    for api, arguments in _calls():
        given = json.loads(json.dumps(arguments))
        await _answer(subject, simulator, api, given)
        expect(given == arguments, f"the arguments {show(arguments)} to stay", given)


@must(reason="Trials run side by side.", hint="Keep nothing of a call in the instance; await what waits.")
async def calls_side_by_side_are_answered_alike(subject: PluginSubject) -> None:
    """Twenty calls at once are answered as they are alone."""
    simulator = _make(subject)
    api, arguments = next(_calls())
    alone = await _answer(subject, simulator, api, dict(arguments))
    found = await asyncio.gather(*(_answer(subject, simulator, api, dict(arguments)) for _ in range(AT_ONCE)))
    others = [one for one in found if one != alone]
    expect(not others, f"{AT_ONCE} times {show(_text(alone))}", [_text(one) for one in others[:1]])


@must(reason="An agent that gives up a call must not cost the next one its answer.", hint="Let go of locks in finally.")
async def a_call_that_is_cancelled_costs_no_other(subject: PluginSubject) -> None:
    """After a call was cancelled, the next one is answered as before."""
    simulator = _make(subject)
    api, arguments = next(_calls())
    before = await _answer(subject, simulator, api, dict(arguments))
    task = asyncio.ensure_future(_answer(subject, simulator, api, dict(arguments)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    after = await _answer(subject, simulator, api, dict(arguments))
    expect(after == before, f"{show(_text(before))} after a call was cancelled", show(_text(after)))


@must(
    reason="Answers in the cache go by them.",
    hint="provenance is a word; settings and revision are the same in every process.",
)
async def what_marks_its_answers_is_constant(subject: PluginSubject) -> None:
    """`provenance` is a word, and `label`, `revision` and `settings` are the same for two instances."""
    first, second = _make(subject), _make(subject)
    provenance = getattr(first, "provenance", "")
    expect(isinstance(provenance, str) and bool(provenance), "a provenance, such as 'mine'", provenance)
    api = next(_calls())[0]
    marks = [(one.label, one.revision(api), one.revision(None), dict(one.settings())) for one in (first, second)]
    expect(marks[0] == marks[1], f"{show(marks[0])} of another instance too", show(marks[1]))
    expect_json("settings", marks[0][3])


@must(
    reason="A trial must not see what another one did.",
    hint="Make all state in world(), or in the World's constructor.",
)
async def worlds_share_nothing(subject: PluginSubject) -> None:
    """Each trial has a world of its own, whose state is JSON and begins alike."""
    simulator = _make(subject)
    world = await subject.call("a world, or None", simulator.world)
    if world is None:
        raise NotTried("its Apis change nothing")
    expect_kind("the world", world, World)
    other = await subject.call("a second world", simulator.world)
    begins = await subject.call("the world's state", world.state)
    expect(other is not world, "another world for another trial", "the same object")
    for api, arguments in _calls():
        try:
            await subject.call("an answer of the world", world.call, api, arguments, allowed=(ApiRefused,))
        except ApiRefused:
            continue
    unchanged = await subject.call("the other world's state", other.state)
    expect(unchanged == begins, "the other trial's world as it began", unchanged)
    expect_json("the state", [begins, await subject.call("the world's state", world.state)])
