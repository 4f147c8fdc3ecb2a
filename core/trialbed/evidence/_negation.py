"""Find negations, which are places in a text that deny the value they name.

They are found by the English words around the place, and the words for *not* in German, French, Spanish, Italian,
Portuguese and Dutch. Anything unknown counts as said.
"""

from __future__ import annotations

import re

REACH = 4
"""Words that may stand between a negation and its subject: ``not in the city of Ellwang``."""

REACH_OF_NO = 1
"""The same for ``no``, which belongs to the noun that follows."""

FAR = 500
"""Characters before a place that are looked at."""

_FOREIGN = r"(?:nicht|kein(?:e[nmrs]?)?|pas|jamais|non(?!-)|não|niet|geen)"

_NOT = rf"(?:not|never|neither|nor|no|cannot|hardly|[a-z]+n't|{_FOREIGN})"

_HARMLESS = re.compile(
    rf"\b{_NOT}\s+(?:only|just|merely|doubt|problem|later|earlier|sooner|before|until|more|less|fewer|to mention)\b"
    r"|\bno\.?\s*(?=[0-9])|\bnone other\b"
    rf"|\b(?:no|{_FOREIGN})\s+(?:nur|mehr als|weniger|später|früher|vor|seulement|avant|plus|moins|s[oó]lo"
    r"|solo|solamente|soltanto|antes|prima|più|só|apenas|alleen|later|meer)\b"
)
"""Negations that deny nothing of what follows."""

_LIMITING = re.compile(r"\b(?:until|till|before|than|except|unless|only|apart|bis|vor|avant|hasta|antes|sino|que)\b")
"""Words after which a negation gives a limit, as in ``not open until 9:00``."""

_CLAUSE = re.compile(
    r"[;!?]|\.(?=\s|$)|\n(?=[^\S\n]*(?:\n|-|[0-9]+[.)]\s))|[,:]\s"
    r"|\b(?:but|however|and|while|although|though|instead|rather|yet|because|with|which|who"
    r"|und|aber|sondern|et|mais|pero|sino|ma|mas|maar)\b"
)
"""The ends of clauses, and of negations with them."""

_SENTENCE = re.compile(r"[!?](?=\s|$)|\.(?=\s|$)|\n\s*\n")

_NEGATION = re.compile(rf"\b{_NOT}\b")

_DENIAL = re.compile(
    r"\b(?:not|isn't|hardly) (?:true|correct|right|the case|accurate)\b"
    r"|\b(?:untrue|false|incorrect|wrong|a lie)(?= (?:that|to say|to claim)\b|:)"
)
"""Words that deny the rest of the sentence."""

_FAILING = re.compile(
    r"\b(?:cannot|can't|(?:could|can|did|do|does|was|were|am|is|are|would)(?:n't| not)|unable to|failed to)"
    r"(?: (?:yet|currently|actually|able to))*"
    r" (?:find|confirm|verify|determine|retrieve|access|establish|check|tell|know|say|look up|fetch|get)\b"
    r"|\bi doubt\b|\b(?:unclear|unknown|uncertain|doubtful|unsure|not sure|not certain)(?: to me)? (?:if|whether)\b"
)
"""Words that deny the rest of the clause."""

_ASKING = re.compile(r"\b(find out|find|tell|know|say|determine|confirm|verify|establish|check) (?:who|which)\b")
"""A clause of a question that belongs to its verb: ``could not find out who the mayor is``."""

_AFTER = re.compile(
    r"(?:\s*(?:is|was|are|were|would be))?(?:\s*(?:not|n't) (?:true|correct|right|the case|the answer)"
    r"|\s+(?:wrong|false|incorrect|untrue))\b"
    r"|,?\s+(?:(?:is|was|are|were)(?:\s+not|n't|\s+no\s+longer)|used\s+to\s+be)\s+(?:the|its|their|his|her|your)\b"
    r"(?!\s+only\b)"
)
"""Words after a value that deny it: ``… is not true``, ``… is no longer the mayor``."""


_REPLACED = re.compile(r"\b(?:instead of|rather than|as opposed to)(?: (?:the|a|an|by|on|at|in|for|from|to))* *$")
"""Words right before a value that does not hold: ``43 instead of 42``."""


def is_denied(text: str, start: int, end: int) -> bool:
    """Return whether what stands between these places of a text in lower case is denied there."""
    if _AFTER.match(text, end):
        return True
    sentence = _SENTENCE.split(text[max(0, start - FAR) : start])[-1]
    if _DENIAL.search(sentence) or _REPLACED.search(sentence):
        return True
    clause = _CLAUSE.split(_ASKING.sub(r"\1", sentence))[-1]
    if _FAILING.search(clause):
        return True
    # A negation that reaches the end of the clause.
    clause = _HARMLESS.sub(" ", clause)
    found = list(_NEGATION.finditer(clause))
    if not found:
        return False
    between = clause[found[-1].end() :]
    reach = REACH_OF_NO if found[-1][0] == "no" else REACH
    return len(between.split()) <= reach and _LIMITING.search(between) is None
