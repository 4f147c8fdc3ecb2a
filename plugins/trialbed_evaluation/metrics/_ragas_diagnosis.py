"""The diagnosis of values that follow Ragas's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.tool_calls import ArgumentFinding, CallFinding, Diagnosis, quantity
from trialbed_evaluation.metrics import _ragas

RULE = "str() of both"


def accuracy_diagnosis(
    value: float, made: Sequence[_ragas.RagasCall], right: Sequence[_ragas.RagasCall], order: str
) -> Diagnosis:
    """Explain the value of ``tool_call_accuracy`` in Ragas."""
    places = list(range(len(made))), list(range(len(right)))
    if order == "flexible":
        places = (
            sorted(places[0], key=lambda place: _ragas.sort_key(made[place])),
            sorted(places[1], key=lambda place: _ragas.sort_key(right[place])),
        )
    pairs = list(zip(*places, strict=False))
    rows = [_row(made[one], right[other], one, other) for one, other in pairs]
    rows += [
        CallFinding("extra", made[place].name, place, None, 0.0, args=made[place].args)
        for place in places[0][len(pairs) :]
    ]
    rows += [
        CallFinding("missing", right[place].name, None, place, 0.0, args=right[place].args)
        for place in places[1][len(pairs) :]
    ]
    return Diagnosis(
        "tool_call_accuracy",
        value,
        _formula(rows, made, right),
        tuple(rows),
        order,
        "ragas",
        notes=_notes(made, right, rows),
    )


def f1_diagnosis(value: float, made: Sequence[_ragas.RagasCall], right: Sequence[_ragas.RagasCall]) -> Diagnosis:
    """Explain the value of ``tool_call_f1`` in Ragas."""
    both, only_made, only_right = _ragas.counts(made, right)
    left = [(place, _key(call)) for place, call in enumerate(right)]
    met: set[Any] = set()
    rows = []
    for place, call in enumerate(made):
        key = _key(call)
        match = next((number for number, other in left if other == key), None)
        if match is not None and key not in met:
            rows.append(CallFinding("matched", call.name, place, match, 1.0, args=call.args))
        else:
            again = key in met
            note = "counts once, as calls are taken as a set" if again else ""
            rows.append(
                CallFinding("duplicate" if again else "extra", call.name, place, None, 0.0, (), note, call.args)
            )
        met.add(key)
    rows += [
        CallFinding("missing", right[place].name, None, place, 0.0, args=right[place].args)
        for place, key in left
        if key not in met
    ]
    formula = f"2pr/(p+r) of {both} distinct calls in both, {only_made} only made, {only_right} only right"
    return Diagnosis("tool_call_f1", value, formula, tuple(rows), "", "ragas")


def _row(made: _ragas.RagasCall, right: _ragas.RagasCall, one: int, other: int) -> CallFinding:
    if made.name != right.name:
        return CallFinding("wrong name", right.name, one, other, 0.0, (), f"{made.name} was called", made.args)
    points = _ragas.right_arguments(made.args, right.args)
    status = "matched" if points == 1 else "partly matched" if points else "wrong arguments"
    arguments = tuple(_arguments(made.args or {}, right.args or {}))
    return CallFinding(status, right.name, one, other, points, arguments, args=made.args)  # type: ignore[arg-type]


def _arguments(made: Mapping[str, Any], right: Mapping[str, Any]) -> list[ArgumentFinding]:
    found = []
    for name, wanted in right.items():
        if name not in made:
            found.append(ArgumentFinding(name, "missing", None, wanted, RULE, 0.0))
        else:
            same = str(made[name]) == str(wanted)
            found.append(ArgumentFinding(name, "matched" if same else "differs", made[name], wanted, RULE, float(same)))
    return found


def _formula(rows: Sequence[CallFinding], made: Sequence[Any], right: Sequence[Any]) -> str:
    if not made and not right:
        return "no calls were made, and none were expected"
    if _has_faults(rows):
        return "0, as the names of all calls are not the same in the same order"
    return f"{quantity(sum(row.points for row in rows), 'point')} / {quantity(len(right), 'call')}"


def _notes(made: Sequence[Any], right: Sequence[Any], rows: Sequence[CallFinding]) -> tuple[str, ...]:
    if len(made) != len(right):
        return ("calls are missing or extra, which makes everything 0",)
    return ("one wrong name makes everything 0",) if _has_faults(rows) else ()


def _has_faults(rows: Sequence[CallFinding]) -> bool:
    return any(row.status in ("wrong name", "extra", "missing") for row in rows)


def _key(call: _ragas.RagasCall) -> Any:
    return call.name, _ragas.canonical(call.args or {})
