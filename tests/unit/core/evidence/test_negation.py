"""Finding negations."""

import random
import re

from trialbed.evidence._negation import (
    _AFTER,
    _ASKING,
    _DENIAL,
    _FAILING,
    _HARMLESS,
    _NEGATION,
    _REPLACED,
    is_denied,
    may_deny,
)

PATTERNS = (_AFTER, _ASKING, _DENIAL, _FAILING, _HARMLESS, _NEGATION, _REPLACED)
WORDS = sorted({word for pattern in PATTERNS for word in re.findall(r"[^\W\d_]+(?:'t)?", pattern.pattern)})
MORE = ["isn't", "couldn't", "keine", "know", "x", "the mayor", "it", "not", "used to be", "as opposed to", "unable to"]


def test_every_text_that_denies_something_may_deny() -> None:
    draw, denied = random.Random(3), 0
    for _ in range(20_000):
        before, after = (draw.choices(WORDS + MORE, k=draw.randint(0, 5)) for _ in range(2))
        start = " ".join(before)
        text = f"{start} 42{draw.choice([' ', ', ', ' is ', ' was not ', ': '])}{' '.join(after)}"
        if is_denied(text, len(start) + 1, len(start) + 3):
            denied += 1
            assert may_deny(text), text
    assert denied > 1000


def test_a_plain_text_denies_nothing() -> None:
    assert not may_deny("the price is 42 euros, and the mayor of ellwang is mirel")
