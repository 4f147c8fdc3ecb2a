"""Exceptions of other people's code, with the line that raised them, and the resulting failure of a trial."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialbed.records import Failure

MAX_TEXT = 1000
"""Characters of an exception's own text in a message."""


def own_line(package: str, error: BaseException) -> str:
    """Return the line of a package that raised an error, in brackets; empty if none did.

    Args:
        package: the name of a module; only its first part counts.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f' (File "{error.filename}", line {error.lineno})'
    first = package.partition(".")[0]
    frames = traceback.walk_tb(error.__traceback__)
    own = [(frame, line) for frame, line in frames if str(frame.f_globals.get("__name__")).partition(".")[0] == first]
    return f' (File "{own[-1][0].f_code.co_filename}", line {own[-1][1]})' if own else ""


OURS = frozenset({"trialbed", "asyncio", "concurrent", "threading"})
"""Packages that call other people's code."""


def foreign_traceback(error: BaseException) -> str:
    """Return the traceback of an exception from the first line of other people's code on."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] in OURS:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))


def exception_text(error: BaseException, code: object) -> str:
    """Return an exception in words, with the line of some code's package that raised it.

    Args:
        code: the function, class or object.
    """
    module = getattr(code, "__module__", "") or ""
    return f"{type(error).__name__}: {str(error)[:MAX_TEXT]}{own_line(module, error)}"


def tool_failure(name: str, error: BaseException, code: object) -> Failure:
    """Return the failure of a trial if a tool raised an exception or did not return, which is not the agent's fault.

    Args:
        name: of the tool, for people.
        code: the function, class or object behind the tool; the message names its line.
    """
    from trialbed.errors import TrialbedError
    from trialbed.foreign_code import StuckCode  # drivers are listed without both
    from trialbed.records import Failure

    if isinstance(error, StuckCode):
        return Failure(kind="tool", message=f"{name} {error}")
    if isinstance(error, TrialbedError):  # its line would be Trialbed's own
        return Failure(kind="tool", message=f"{name}: {error}")
    return Failure(kind="tool", message=f"{name} raised {exception_text(error, code)}", detail=foreign_traceback(error))
