"""Completion in bash of names with colons, which bash takes for several words: ``scripted:gold``."""

from __future__ import annotations

import os
import re
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

WORDS = 'COMP_WORDS="${COMP_WORDS[*]}"'
LINE = f'{WORDS} COMP_LINE="$COMP_LINE" COMP_POINT=$COMP_POINT COMP_WORDBREAKS="$COMP_WORDBREAKS"'


class BashLineComplete(BashComplete):
    """Read the line itself instead of bash's words, and complete its last word only."""

    source_template = BashComplete.source_template.replace(WORDS, LINE)

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one that is being written."""
        if "COMP_LINE" not in os.environ:
            return super().get_completion_args()
        # The place of the cursor is counted in bytes.
        line = os.fsdecode(os.fsencode(os.environ["COMP_LINE"])[: int(os.environ["COMP_POINT"])])
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions without the words that bash has read already."""
        breaks = "".join(sign for sign in ":=" if sign in os.environ.get("COMP_WORDBREAKS", ""))
        known = re.match(f".*[{breaks}]", incomplete) if breaks else None
        read = known[0] if known else ""
        found = super().get_completions(args, incomplete)
        for item in found:
            for begin in (read, read.partition("=")[2]):
                if begin and str(item.value).startswith(begin):
                    item.value = str(item.value)[len(begin) :]
                    break
        return found


def complete_names_with_colons() -> None:
    """Have click complete so in bash."""
    add_completion_class(BashLineComplete)
