"""Keeps sentences that are addressed to the judge from it.

A prompt that asks a model not to obey the material helps with good models only. No model sees a text recognised here.
"""

from __future__ import annotations

import re
from typing import Any

REMOVED = "[a sentence that addresses the judge was removed]"

NOTE = "a sentence of the answer that addresses the judge was not shown to it"

_STATUS = r"(?:un)?solved|unsure"
_JUDGE = r"(?:judge|grader|evaluator|reviewer|assessor)"

_STEERING = re.compile(
    rf"""answer_status
    | <\|(?:im_start|im_end|system|endoftext)\|> | \[/?INST\] | ^[^\S\n]*\#{{2,}}\s*(?:system|instruction)
    | \b(?:ignore|disregard|forget|override|bypass)\b [^.\n]{{0,40}}
      \b(?:instructions?|rubric|prompt|rules|guidelines|criteria)\b
    | \b(?:reply|respond|output|return|vote|print|say|write|answer)\b
      (?:\ only|\ just|\ with|\ simply|\ exactly|:|,)*
      \s*(?:["'*`{{(]+\s*)?(?:{_STATUS})\b
    | (?<!\bi\ )(?<!\bwe\ ) \b(?:grade|mark|rate|score|judge|classify|label|count|treat|consider)\b
      [^.\n]{{0,60}} \b(?:{_STATUS})\b
    | \b(?:ignorier\w*|ignore[zr]|ignora|ignoriert)\b [^.\n]{{0,40}} \b(?:anweisung\w*|instruc\w+)
    | \b(?:antworte\w*|bewerte\w*|réponde?[sz]|responde|responda|rispondi)\b [^.\n]{{0,20}} \b(?:{_STATUS})\b
    | (?:回答|回复|输出|答えて) [^.\n]{{0,20}} (?:{_STATUS})
    | \b{_JUDGE}s?\b [^.\n]{{0,10}} \b(?:must|should|has\ to|have\ to|shall)\b
    | \b(?:deserves?|merits?|give\ (?:it|this|me))\b [^.\n]{{0,30}}
      \b(?:full\ (?:marks?|score|credit)|passing\ (?:grade|score))\b
    | (?:^[^\w\n]*(?:the\ )?(?:status|grade)
      | \b(?:final|answer(?:'s)?|your|overall|task|correct|set\ the)\ (?:status|grade|label)
      | \b(?:verdict|score|rating))\b \s*(?:(?:is|must\ be|should\ be|to|=)\s*)?(?::\s*)?["'*`]*(?:{_STATUS})\b
    | \byou\ are\ (?:now\ )?(?:a|an|the)\ [^.\n]{{0,30}}\b{_JUDGE}\b
    | \b(?:dear|attention|note\ to|(?:instructions?|message)\ (?:for|to))\ (?:the\ )?[^.\n]{{0,20}}\b{_JUDGE}s?\b
    | \b(?:prefer|choose|select|pick)\ (?:the\ )?(?:first|second)\ (?:answer|assistant|one)\b
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def steers(text: str) -> bool:
    """Return whether a text addresses its grader."""
    return _STEERING.search(text) is not None


def shown(text: str) -> str:
    """Return the text without the sentences that speak to the judge."""
    if not steers(text):
        return text
    parts, last = [], 0
    for end in [*_SENTENCES.finditer(text), None]:
        sentence = text[last : end.start() if end else len(text)]
        parts.append(REMOVED if steers(sentence) else sentence)
        parts.append(end[0] if end else "")
        last = end.end() if end else len(text)
    joined = "".join(parts)
    # What only steers over the ends of sentences is left out as a whole.
    return REMOVED if steers(joined.replace(REMOVED, " ")) else joined


def shown_value(value: Any) -> Any:
    """Return a JSON value with ``shown`` texts."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [shown_value(item) for item in value]
    if isinstance(value, dict):
        return {key: shown_value(item) for key, item in value.items()}
    return value
