"""Every word that results use is explained, and none is explained that they do not use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from trialbed import wire
from trialbed.wire import ANSWERED, Outcome
from trialbed_verify import verification
from trialbed_verify.verification.results.vocabulary import OUTCOMES, PROBLEMS

FOLDER = Path(str(verification.__file__)).parent
WIRE = Path(str(wire.__file__)).parent
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py")}
SPOKEN = WIRE / "dialects" / "chat_completions"
"""The dialect that verifications speak."""

READERS = [
    (folder / name).read_text()
    for folder, name in (
        (WIRE, "_bodies.py"),
        (SPOKEN.parent, "_streamed.py"),
        (SPOKEN, "_answers.py"),
        (SPOKEN, "_streams.py"),
    )
]
KIND = re.compile(
    r"""(?:failed|Problem|_break|refuse)\(\s*f?"([\w{}.]+)"|^ +return "(\w+)"(?: if .* else "(\w+)")?$""", re.MULTILINE
)


def test_every_outcome_is_explained() -> None:
    assert set(OUTCOMES) == set(get_args(Outcome))
    assert set(OUTCOMES) > ANSWERED


def test_every_kind_of_problem_is_explained() -> None:
    found = "".join((*READERS, SOURCES["_exchange"]))
    kinds = {kind for kinds in KIND.findall(found) for kind in kinds if kind}
    assert {"http_<status>" if kind.startswith("http_") else kind for kind in kinds} == set(PROBLEMS)
