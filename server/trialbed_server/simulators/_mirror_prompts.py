"""The prompts that MirrorAPI models were trained with, from an installed copy of StableToolBench."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from trialbed.errors import UsageError

FILE = "system_prompts.py"
PLACES = (FILE, f"server/{FILE}")
"""The path of the prompts from the folder of StableToolBench's server or of the checkout."""

NAMES = ("SFT_SYSTEM", "COT_SYSTEM")


def read_mirror_prompts(folder: Path) -> dict[str, str]:
    """The two system prompts by their names there; nothing of the file is run.

    Raises:
        UsageError: there are none.
    """
    path = next((folder / place for place in PLACES if (folder / place).is_file()), None)
    if path is None:
        raise UsageError(
            f"--simulator-prompts {folder}: there is no {FILE}; name a checkout of StableToolBench, or leave the "
            "option out to use Trialbed's prompts"
        )
    try:
        found = _texts(ast.parse(path.read_text(encoding="utf-8")))
        return {name: found[name] for name in NAMES}
    except KeyError as error:
        raise UsageError(f"--simulator-prompts: {path} has no text {error}; is it StableToolBench's?") from error
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise UsageError(f"--simulator-prompts: {path} cannot be read: {error}") from error


def prompt_digest(text: str) -> str:
    """A short digest of a prompt."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _texts(module: ast.Module) -> dict[str, str]:
    """The texts that are assigned to names, without anything being computed."""
    return {
        target.id: statement.value.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
