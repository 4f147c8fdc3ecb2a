"""Trials with known calls, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trialbed.attribution import Attribution, count_calls
from trialbed.contracts import Judge, Verdict
from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    AttributedCall,
    ClaimedCall,
    Expected,
    Failure,
    GoldCall,
    ModelCall,
    Prices,
    Query,
    Score,
    SentCall,
    TaskTest,
    Timing,
    ToolSpec,
    Usage,
    User,
    UserTurn,
    WireLog,
    WireTurn,
)
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers import score_trial

NOON = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Attributed:
    """A trial, and what became of its gold calls."""

    query_id: int
    failure: Failure | None
    gold_calls: Sequence[AttributedCall] | None


def attribution_of(trials: Iterable[Attributed]) -> Attribution:
    """Count the expected calls of trials."""
    return count_calls(
        (one.query_id, [call.model_dump() for call in one.gold_calls or ()], one.failure.kind if one.failure else "")
        for one in trials
    )


class Says(Judge):
    """A judge with one verdict."""

    def __init__(self, verdict: Verdict | Exception) -> None:
        super().__init__()
        self.verdict = verdict

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


SOLVED = Says(Verdict(status="Solved", value=1.0, reason="good", votes=("Solved",)))


def ref(name: str) -> ApiRef:
    """The Api of a letter."""
    return ApiRef(category="C", tool_name="t", api_name=name)


def api_call(name: str, arguments: Any = None, error: str = "", **more: Any) -> ApiCall:
    """A call that the virtual API saw."""
    return ApiCall(
        **{"started": 0, "duration": 0, "api": ref(name), "offered": True, "arguments": arguments or {}, "error": error}
        | more
    )


def sent_call(name: str, arguments: str = "{}", problem: str | None = None) -> SentCall:
    """A call of the Api of a letter as the model sent it."""
    return SentCall(name=f"t_{name}", arguments=arguments, problem=problem)


def model_call(
    usage: Usage | None = None, status: int = 200, request: str = "", sent: Sequence[SentCall] = (), **more: Any
) -> ModelCall:
    """A request to the model."""
    fields = {"started": 0, "duration": 0, "response": "", "request_bytes": 0, "response_bytes": 0}
    return ModelCall(
        **{**fields, "status": status, "request": request, "usage": usage, "tool_calls": tuple(sent)} | more
    )


def claim(name: str | None, arguments: Any = None) -> ClaimedCall:
    """A call that the agent claims."""
    return ClaimedCall(name=name or "nowhere", api=ref(name) if name else None, arguments=arguments)


def gold_call(name: str, **arguments: Any) -> GoldCall:
    """A gold call with arguments."""
    return GoldCall(api=ref(name), arguments=arguments)


def tool(name: str, **properties: Any) -> ToolSpec:
    """The tool of a letter, and the schemas of its arguments."""
    return ToolSpec(name=f"t_{name}", description="", parameters={"properties": properties}, api=ref(name))


def context(
    gold: Sequence[str | GoldCall] = (),
    called: Sequence[ApiCall] = (),
    asked: Sequence[ModelCall] = (),
    judge: Judge = SOLVED,
    unasked: Sequence[ApiCall] = (),
    states: tuple[Any, Any] = (None, None),
    prices: Prices | None = None,
    turns: int = 0,
    **answer: Any,
) -> ScoreContext:
    """A trial; its gold calls have no arguments where they are letters, its states are the wanted one and its own."""
    user = tuple(WireTurn(started=turn, text="Go on." if turn else "x is 2") for turn in range(turns))
    calls = tuple(call if isinstance(call, GoldCall) else GoldCall(api=ref(call)) for call in gold)
    query = Query(query_id=1, text="?", apis=(), gold_calls=calls, final_state=states[0])
    if turns:
        told = [UserTurn(text="x is 2")] * (turns - 1)
        test = TaskTest(name="turn 1", turn=1, expected=Expected(most_requests=9))
        parts = {
            "turns": (*told, UserTurn(text="Go on.", calls=len(calls))),
            "expected": Expected(never=(ref("c"),), tests=(test,)),
            "user": User(goal="x is 2"),
        }
        query = query.model_copy(update=parts)
    return ScoreContext(
        query=query,
        tools=tuple(tool(name) for name in ("a", "b", "c")),
        answer=Answer(**{"final_answer": "42", "finish": "give_answer", "calls": ()} | answer),
        wire=WireLog(
            trial="t", opened_at=NOON, model_calls=tuple(asked), api_calls=tuple(called), state=states[1], turns=user
        ),
        timing=Timing(wall=4, model=2, tool=1.5, framework=0.5),
        judge=judge,
        judge_name="rule",
        unasked=tuple(unasked),
        prices=prices,
    )


async def scores(*arguments: Any, **more: Any) -> dict[str, Score]:
    """The scores of a trial by name."""
    return {score.name: score for score in await score_trial(context(*arguments, **more))}


async def values(*arguments: Any, **more: Any) -> dict[str, float | None]:
    """The values of a trial's scores by name."""
    return {name: score.value for name, score in (await scores(*arguments, **more)).items()}
