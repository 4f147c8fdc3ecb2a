"""Texts on which a backtracking pattern is slow, made from the pattern's own parts, and the time that they take."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

SIZES = (500, 2_000, 8_000)
"""Characters of the texts: each is four times as long as the one before."""

GROWTH = 9.0
"""Times as long that four times the text takes at least, where the time is not linear: 16 for a quadratic one."""

LINEAR = 6.0
"""Times as long that four times the text may take, beyond doubt."""

NOTICEABLE = 0.0002
"""Seconds below which a text of the middle size is read in linear time: 100 ns for each character."""

HOPELESS = 0.08
"""Seconds above which no text of the middle size is read in linear time: 40 us for each character."""

LONGEST = 60.0
"""Seconds of work for all texts of one pattern together."""

PIECES = (" ", "\n", "a", "1", ",111", "\n ", "a ", "(", '{"', "[", "<", "`", "-", '"\\', "1.", ":", "'")
"""Pieces of texts that are tried on every pattern."""

CHARACTERS = "a1 _-.,:/\n<>{}[]()`\"'*=#é中Z\\"
CLASSES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
SOME = 20
"""Repeats of up to so many are no loops."""

Node = Sequence[tuple[Any, Any]]


class Attack(NamedTuple):
    """A text: a beginning, a piece that is repeated, and an end that does not fit."""

    begin: str
    piece: str
    end: str = ""

    def text(self, size: int) -> str:
        return self.begin + self.piece * (size // len(self.piece)) + self.end


class TooSlow(Exception):
    """The texts of a pattern take too long."""


def slowest(
    pattern: re.Pattern[str], use: Callable[[re.Pattern[str], str], object], *, limit: float = LONGEST
) -> Attack | None:
    """Return a text on which the time of a pattern grows faster than the text; None if there is none.

    Args:
        use: applies the pattern to a text, as the code does.
        limit: seconds of work after which the text at hand is returned.
    """
    attack = None
    try:
        with processor_time(limit):
            for attack in attacks(pattern):
                if _is_superlinear(pattern, use, attack):
                    return attack
    except TooSlow:
        return attack
    return None


def _is_superlinear(pattern: re.Pattern[str], use: Callable[[re.Pattern[str], str], object], attack: Attack) -> bool:
    short, middle, long = (attack.text(size) for size in SIZES)
    took = _seconds(pattern, use, middle)
    if took < NOTICEABLE or took < LINEAR * _seconds(pattern, use, short):
        return False
    if took > HOPELESS:
        return True
    # Measured again, and the quickest of several counts: another process may have had the caches.
    took_long, took_middle = (min(_seconds(pattern, use, text) for _ in range(3)) for text in (long, middle))
    return took_long > GROWTH * took_middle


def _seconds(pattern: re.Pattern[str], use: Callable[[re.Pattern[str], str], object], text: str) -> float:
    began = time.thread_time()
    use(pattern, text)
    return time.thread_time() - began


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """End the block after seconds of this process's own work, in whatever it is; a match looks for signals too.

    Raises:
        TooSlow: it took longer.
    """

    def end(*_: object) -> None:
        raise TooSlow

    old = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def attacks(pattern: re.Pattern[str]) -> list[Attack]:
    """Texts of one piece, and of what each loop of the pattern takes, with an end at which the loop cannot stop."""
    flags = pattern.flags
    tree = parser.parse(pattern.pattern, flags)
    found = [Attack("", piece, "\0") for piece in PIECES]
    for pick in range(3):
        whole = _matched(tree, flags, pick)
        found += [Attack("", whole), *(Attack("", whole[:cut]) for cut in range(1, min(len(whole), 40)))]
    for begin, loop in _loops(tree, flags):
        characters = _characters(loop, flags)
        for piece in dict.fromkeys([*(_matched(loop, flags, pick) for pick in range(4)), *characters]):
            found += [Attack(begin, piece, end) for end in ("\0", piece[:-1], piece[: len(piece) // 2])]
            found += [Attack("", begin + piece), *(Attack(begin, piece + other, "\0") for other in characters[:2])]
    return [attack for attack in dict.fromkeys(found) if attack.piece]


def _loops(node: Node, flags: int, begin: str = "") -> Iterator[tuple[str, Node]]:
    """The parts that may be repeated often, each with a text that leads to it."""
    for code, value in node:
        if code in REPEATS:
            _, most, part = value
            if most > SOME:
                yield begin, part
        for part in _parts(code, value):
            yield from _loops(part, flags, begin)
        begin += _matched([(code, value)], flags)


def _parts(code: Any, value: Any) -> Sequence[Node]:
    if code in REPEATS:
        return [value[2]]
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code is codes.BRANCH:
        return list(value[1])
    return [value[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def _matched(node: Node, flags: int, pick: int = 0) -> str:
    """A text that a part of a pattern matches, as far as assertions let it; another one for another ``pick``."""
    text = ""
    for code, value in node:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.NOT_LITERAL:
            text += "b" if chr(value) == "a" else "a"
        elif code is codes.ANY:
            text += "a"
        elif code is codes.IN:
            members = _members(value, flags)
            text += members[pick % len(members)]
        elif code is codes.BRANCH:
            text += _matched(value[1][pick % len(value[1])], flags, pick)
        elif code in REPEATS:
            text += _matched(value[2], flags, pick) * max(value[0], 1)
        elif code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            text += _matched(_parts(code, value)[0], flags, pick)
        elif code is codes.ASSERT and value[0] < 0:
            text += _matched(value[1], flags, pick)
    return text


def _characters(node: Node, flags: int) -> list[str]:
    """A few of the characters that a part takes."""
    found: list[str] = []
    for code, value in node:
        if code is codes.IN:
            found += _members(value, flags)
        elif code is codes.LITERAL:
            found.append(chr(value))
        elif code in (codes.ANY, codes.NOT_LITERAL):
            found += ["a", " "]
        for part in _parts(code, value):
            found += _characters(part, flags)
    return list(dict.fromkeys(found))[:8]


def _members(items: Node, flags: int) -> list[str]:
    """A few of the characters of a set."""
    source = ""
    first = []
    for code, value in items:
        if code is codes.NEGATE:
            source += "^"
        elif code is codes.LITERAL:
            source += f"\\U{value:08x}"
            first.append(chr(value))
        elif code is codes.RANGE:
            source += f"\\U{value[0]:08x}-\\U{value[1]:08x}"
            first.append(chr(value[0]))
        else:
            source += CLASSES[value]
    own = re.compile(f"[{source}]", flags & ~re.VERBOSE)
    return [character for character in dict.fromkeys([*CHARACTERS, *first]) if own.match(character)] or [""]
