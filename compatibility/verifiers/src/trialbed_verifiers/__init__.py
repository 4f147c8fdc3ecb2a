"""The commands of agent-vendor-verifier and vendor_verifier, as ``bench verify`` and ``bench compare`` have them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from trialbed.cli import main

__all__ = ["compare_results", "verify_agents", "verify_vendor"]

HELP = "--help"
TEST_SET = "--test-file-path"
"""The option of agent-vendor-verifier for what is the argument of ``bench verify``."""

RENAMED = {"--config-file-path": "--config", "--use_raw_completions": "--use-raw-completions"}
"""Other options of theirs -> ours."""

RANKS, FOLDER = "--rank-files", "rank"


def verify_agents() -> int:
    """Run ``agent-vendor-verifier``, which streams each request once, continues earlier work, and writes ranks."""
    given = list(_in_our_words(sys.argv[1:]))
    streamed, begun = _missing(given, "--stream", "--no-stream"), _missing(given, "--incremental", "--fresh")
    ranks = [*_missing(given, RANKS), FOLDER] if _missing(given, RANKS) else []
    once = [*_missing(given, "--trials"), "1"] if _missing(given, "--trials") else []
    return main(["verify", *streamed, *begun, *ranks, *once, *given])


def verify_vendor() -> int:
    """Run ``python -m vendor_verifier``, which starts over without ``--incremental``, even if there are results."""
    given = sys.argv[1:]
    return main(["verify", *_missing(given, "--fresh", "--incremental"), *given])


def compare_results() -> int:
    """Run ``python -m vendor_verifier.compare``, which prints the figures as JSON, or writes them to ``--output``."""
    return main(["compare", *_missing(sys.argv[1:], "--json"), *sys.argv[1:]])


def _in_our_words(given: list[str]) -> Iterator[str]:
    """Yield arguments under the names that ``bench verify`` has for them."""
    for argument in given:
        name, equals, value = argument.partition("=")
        if name == TEST_SET:
            yield from [value] if equals else ()
        else:
            yield f"{RENAMED.get(name, name)}{equals}{value}"


def _missing(given: list[str], option: str, *others: str) -> list[str]:
    """Return an option to add, unless it or a contradicting one is given."""
    return [] if {option, *others, HELP} & set(given) else [option]
