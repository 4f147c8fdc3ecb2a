"""Texts in which every cleaning shows: blanks, line ends, letters that have two forms, marks of templates."""

from __future__ import annotations

TEXT = (
    "  \tTwo  blanks,  a tab\t, cafe\u0301 and caf\u00e9, \ufb01, \u00bd, 東京 and 🦜👩‍🚀.\r\n\r\n\n\n"
    "Signs: {braces} {{two}} %s $name $$ \\n &amp; <b>bold</b> %20 \u200b \u202f "
    "\u201cquotes\u201d 'single' \"double\".\n"
    "Words: True, true, null, 1.0, 1e5, Error: none, [1], a@example.org, sk-0123456789abcdef,\n"
    "0123456789abcdef0123456789abcdef, Final Answer: yes, Action: none, ~/home, ```json\n{}\n```\n  \n"
)
"""A text of a few lines."""


def long_text(characters: int, word: str = "line") -> str:
    """Return a text of lines that are all different, of about this length."""
    return "".join(f"{word} {number:06d} of a long report\n" for number in range(characters // (len(word) + 25)))
