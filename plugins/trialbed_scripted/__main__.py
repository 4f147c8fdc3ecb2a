"""Serves a scripted model: ``python -m trialbed_scripted``."""

from __future__ import annotations

import argparse
import pkgutil
import sys
from typing import Any

from trialbed.errors import TrialbedError
from trialbed_scripted import serve, serve_until_stopped


def main(argv: list[str] | None = None) -> int:
    """Serve the model that the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trialbed_scripted", description="Serve a scripted model.")
    parser.add_argument("model", nargs="?", help="MODULE:NAME of a model; by default, any request is answered rightly")
    parser.add_argument("--faults", default="none", help="names in order, or the JSON or the file of a script")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    given = parser.parse_args(argv)
    try:
        model = _load(given.model) if given.model else None
        serve_until_stopped(serve(model, faults=given.faults, port=given.port, kept=0))
    except TrialbedError as error:
        sys.stderr.write(f"Error: {error}\n")
        return error.exit_code
    except (ImportError, AttributeError, ValueError) as error:
        parser.error(f"{given.model}: {error}")
    return 0


def _load(name: str) -> Any:
    sys.path.insert(0, "")
    return pkgutil.resolve_name(name)


if __name__ == "__main__":
    sys.exit(main())
