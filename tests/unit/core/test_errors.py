"""Each error has an exit code."""

from __future__ import annotations

import inspect

from trialbed import errors


def test_every_error_has_an_exit_code_and_a_description() -> None:
    for name in errors.__all__:
        error = getattr(errors, name)
        assert inspect.isclass(error), name
        assert error.exit_code in (2, 3), name
        assert error.__doc__, name
