"""The policies: pure functions of the script, the tools on offer and the conversation so far.

What each of them does to a framework, and so the right value of every score, is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

from trialbed.prompts import GIVE_UP
from trialbed.records import ScriptedCall
from trialbed_server.gateway.scripted.answers import answer_with_evidence
from trialbed_server.gateway.scripted.arguments import argument_text, minimal_arguments, wrong_arguments
from trialbed_server.gateway.scripted.turns import Call, Scene, Turn

Policy = Callable[[Scene], Turn]

NO_TOOL_TEXT = "I can answer this without any tool."
NO_RESULT_TEXT = "I called the tools but have no result to report."
GIVE_UP_TEXT = f"{GIVE_UP} These tools do not solve the task."


def gold(scene: Scene) -> Turn:
    """The gold calls, one per turn, then the answer with their evidence."""
    return _sequence(scene, [_right(call) for call in scene.script])


def parallel(scene: Scene) -> Turn:
    """All gold calls in one turn, then the answer with their evidence."""
    if scene.position == 0 and scene.script:
        return Turn(tuple(_right(call) for call in scene.script))
    return _answer(scene)


def none(_scene: Scene) -> Turn:
    """Answers at once, without evidence."""
    return Turn(text=NO_TOOL_TEXT)


def partial(scene: Scene) -> Turn:
    """All gold calls but the last, then the answer with their evidence."""
    return _sequence(scene, [_right(call) for call in scene.script[:-1]])


def reordered(scene: Scene) -> Turn:
    """The gold calls in reverse order, then the answer with their evidence."""
    return _sequence(scene, [_right(call) for call in reversed(scene.script)])


def extra(scene: Scene) -> Turn:
    """As gold, but with a call of a tool that is not gold, if one is offered, before the answer."""
    gold_names = {call.name for call in scene.script}
    others = [name for name in scene.offered if name not in gold_names][:1]
    calls = [Call(name, argument_text(minimal_arguments(scene.offered[name]))) for name in others]
    return _sequence(scene, [*map(_right, scene.script), *calls])


def wrong_args(scene: Scene) -> Turn:
    """Every gold call once with arguments that violate its schema, then an answer without evidence."""
    if scene.position < len(scene.script):
        return Turn((_wrong(scene, scene.script[scene.position]),))
    return Turn(text=NO_RESULT_TEXT)


def bad_json(scene: Scene) -> Turn:
    """First a gold call whose arguments do not parse, then as gold."""
    return _sequence(scene, _with_false_start(scene.script, lambda call: Call(call.name, _right(call).arguments[:-1])))


def unknown_tool(scene: Scene) -> Turn:
    """First a call of a tool that is not offered, then as gold."""
    return _sequence(scene, [Call(_unoffered(scene), "{}"), *map(_right, scene.script)])


def retry(scene: Scene) -> Turn:
    """The first gold call with arguments that violate its schema, then as gold."""
    return _sequence(scene, _with_false_start(scene.script, lambda call: _wrong(scene, call)))


def loop(scene: Scene) -> Turn:
    """The first gold call again and again; never ends."""
    return Turn((_right(scene.script[0]),)) if scene.script else _answer(scene)


def slow(scene: Scene) -> Turn:
    """As gold; the model that plays it takes its time."""
    return gold(scene)


def giveup(scene: Scene) -> Turn:
    """The first gold call, then gives up."""
    if scene.position == 0 and scene.script:
        return Turn((_right(scene.script[0]),))
    return Turn(text=GIVE_UP_TEXT)


POLICIES: MappingProxyType[str, Policy] = MappingProxyType(
    {
        policy.__name__.replace("_", "-"): policy
        for policy in (
            gold,
            parallel,
            none,
            partial,
            reordered,
            extra,
            wrong_args,
            bad_json,
            unknown_tool,
            retry,
            loop,
            slow,
            giveup,
        )
    }
)
"""Every policy by the name that follows ``scripted:``."""


def _sequence(scene: Scene, calls: Sequence[Call]) -> Turn:
    return Turn((calls[scene.position],)) if scene.position < len(calls) else _answer(scene)


def _answer(scene: Scene) -> Turn:
    return Turn(text=answer_with_evidence(scene.messages))


def _right(call: ScriptedCall) -> Call:
    return Call(call.name, argument_text(call.arguments))


def _wrong(scene: Scene, call: ScriptedCall) -> Call:
    schema = scene.offered.get(call.name, {"type": "object"})
    return Call(call.name, argument_text(wrong_arguments(call.arguments, schema)))


def _with_false_start(script: Sequence[ScriptedCall], spoil: Callable[[ScriptedCall], Call]) -> list[Call]:
    return [*map(spoil, script[:1]), *map(_right, script)]


def _unoffered(scene: Scene) -> str:
    name = "tool_that_is_not_offered"
    while name in scene.offered:
        name += "_"
    return name
