"""Find the values that an answer states without denying them, or that many texts have.

Negations are found by the English words around the place, and the words for *not* in German, French, Spanish, Italian,
Portuguese and Dutch. Anything unknown counts as said.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from trialbed.evidence._tokens import Token, dates, merge, readable, scaled_numbers, second_readings, tokens

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


MOST = 200
"""Places of a value in a text that are looked at; the first ones."""

FEW = 8
"""Texts that are searched one by one."""

SHORT = 500
"""Characters of a text that is cached after reading, because queries, arguments and most answers recur."""


def carries(answer: str, value: str) -> bool:
    """Return whether the answer says a value, such as a fact, in any spelling and without denying it there.

    Case, white space, markup, separators of thousands, zeros at the end of a fraction, the space before a unit, and the
    form of times and dates do not matter. A value is said only as a whole: ``21.5`` is not in ``121.5``.
    """
    return read(answer).says(value)


@lru_cache(maxsize=4096)
def wanted(value: str) -> tuple[list[str], list[str]]:
    """Return the words of a value, and the days that it names if it is a date; read once for all texts."""
    shown = readable(value)
    days = [found.text for found in dates(shown) if shown.strip() == shown[found.start : found.end]]
    found = merge(tokens(shown), scaled_numbers(shown))
    readings = second_readings(shown)
    # A value that is a number as a whole, such as "48 213", is known by it.
    if len(readings) == 1 and shown.strip() == shown[readings[0].start : readings[0].end]:
        found = readings
    return [token.text for token in found], days


class Text:
    """A text to look for values in.

    Attributes:
        words: the words of the text.
    """

    def __init__(self, text: str) -> None:
        self._plain = " ".join(text.split())
        self._text = readable(text)
        first = merge(tokens(self._text), scaled_numbers(self._text))
        others = second_readings(self._text)
        readings = [first, merge(first, others)] if others else [first]
        self._readings = [([token.text for token in reading], reading) for reading in readings]
        self.words = frozenset().union(*(words for words, _ in self._readings))

    @cached_property
    def dates(self) -> list[Token]:
        """The dates that stand in it."""
        return dates(self._text)

    def says(self, value: str, *, denied: bool = False) -> bool:
        """Return whether the value stands in it without being denied.

        Args:
            denied: whether denied places count, too.
        """
        if not wanted(value)[0] and (plain := " ".join(value.split())) and plain in self._plain:
            return True  # nothing but markup, which stands in it unchanged
        places = islice(self._places(value), MOST)
        return any(denied or not is_denied(self._text, *place) for place in places)

    def _places(self, value: str) -> Iterator[tuple[int, int]]:
        sought, days = wanted(value)
        if sought and self.words.issuperset(sought):
            for words, reading in self._readings:
                place = -1
                for _ in range(words.count(sought[0])):
                    place = words.index(sought[0], place + 1)
                    end = place + len(sought)
                    if words[place:end] == sought:
                        yield reading[place].start, reading[end - 1].end
        for day in days:
            yield from ((found.start, found.end) for found in self.dates if found.text == day)


_read_short, _read_long = lru_cache(maxsize=4096)(Text), lru_cache(maxsize=64)(Text)


def read(text: str) -> Text:
    """Return the text, read once for all values that are looked for in it, and for all scores of a trial."""
    return _read_short(text) if len(text) <= SHORT else _read_long(text)


@dataclass(eq=False)
class Passages:
    """Ordered texts, read when a value is first looked for and only around its rarest word.

    A value is also found where JSON escapes its characters.
    """

    given: Iterable[str]

    @cached_property
    def _texts(self) -> list[Text]:
        return [read(text if "\\" not in text else f"{text}\n{_unescaped(text)}") for text in self.given]

    def mention(self, value: str, start: int = 0) -> bool:
        """Return whether the value stands in any of the texts, said or denied.

        Args:
            start: the first text that counts.
        """
        words, days = wanted(value)
        texts = self._texts[start:]
        if words and not days:
            if len(texts) > FEW:
                places = min((self._of_words.get(word, []) for word in words), key=len)
                texts = [self._texts[place] for place in places[bisect_left(places, start) :]]
            # Mostly, that leaves none.
            texts = [text for text in texts if text.words.issuperset(words)]
        return any(text.says(value, denied=True) for text in texts)

    @cached_property
    def _of_words(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(self._texts):
            for word in text.words:
                places[word].append(place)
        return places


_ESCAPES = re.compile(r'(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+')


def _unescaped(text: str) -> str:
    return _ESCAPES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)
