"""The one error tree of Trialbed.

::

    TrialbedError                the base of all
    ├── UsageError               the command, an option or an argument is wrong (exit code 2)
    ├── SettingsError            a settings file or environment variable is wrong (exit code 2)
    ├── DataError                a file, record or answer has the wrong form; names file, line or key (exit code 2)
    │   └── AnswerError          an agent's answer is malformed; names the node
    ├── DriverError              a driver is missing, broken or of another contract (exit code 2)
    │   ├── DriverNotFound
    │   ├── DriverBroken
    │   └── ContractMismatch
    ├── NothingMeasured          server, model or environment: no trial could give a number (exit code 3)
    │   ├── EnvironmentFailed    a framework's own environment is missing or cannot be built
    │   ├── SandboxUnavailable   the requested sandbox cannot be created here
    │   └── ServerUnavailable
    ├── ModelFailed              the model could not be reached or refused the request; an agent raises it
    │   └── ModelUnavailable     the endpoint gave no completion, or a budget is used up, for any request
    ├── ApiRefused               an API refuses a call, or cannot be called; tools and worlds raise it
    ├── SimulationError          a simulator could not answer; becomes an API error, is never cached
    └── JudgeError               a judge gave no usable verdict; becomes the score's error, never a guess

The text of an error is shown to the user unchanged. It says what is wrong, its place, and what to do next.
"""

from __future__ import annotations

__all__ = [
    "AnswerError",
    "ApiRefused",
    "ContractMismatch",
    "DataError",
    "DriverBroken",
    "DriverError",
    "DriverNotFound",
    "EnvironmentFailed",
    "JudgeError",
    "ModelFailed",
    "ModelUnavailable",
    "NothingMeasured",
    "SandboxUnavailable",
    "ServerUnavailable",
    "SettingsError",
    "SimulationError",
    "TrialbedError",
    "UsageError",
]


class TrialbedError(Exception):
    """Base of every error that Trialbed raises on purpose."""

    exit_code = 3


class UsageError(TrialbedError):
    """The command, an option or an argument is wrong."""

    exit_code = 2


class SettingsError(TrialbedError):
    """A settings file or environment variable has a wrong value; names the file and key."""

    exit_code = 2


class DataError(TrialbedError):
    """Data has the wrong form; the message names the file, line or key."""

    exit_code = 2


class AnswerError(DataError):
    """An agent's answer is malformed; the message names the node."""


class DriverError(TrialbedError):
    """A driver cannot be used."""

    exit_code = 2


class DriverNotFound(DriverError):
    """No installed distribution offers a driver of this name."""


class DriverBroken(DriverError):
    """The driver is installed but cannot be loaded; names distribution, version and cause."""


class ContractMismatch(DriverError):
    """The driver was written for another version of its contract; names both versions."""


class NothingMeasured(TrialbedError):
    """No trial could give a number, because server, model or environment is not usable."""


class EnvironmentFailed(NothingMeasured):
    """A framework's own environment is missing or cannot be built; has the resolver's reason."""


class SandboxUnavailable(NothingMeasured):
    """The requested sandbox cannot be created on this machine.

    Args:
        missing: the part that is missing.
        remedy: how to get it.
    """

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(f"--sandbox: {missing}; {remedy}")
        self.missing = missing
        self.remedy = remedy


class ServerUnavailable(NothingMeasured):
    """Trialbed's server cannot be reached or did not start."""


class ModelFailed(TrialbedError):
    """The model could not be reached or refused the request; an agent raises it, the trial fails as ``model``."""


class ModelUnavailable(ModelFailed):
    """The endpoint gave no completion, or the budget is used up, and no other request would get an answer either."""


class ApiRefused(TrialbedError, ValueError):
    """An API refuses a call, or cannot be called; the text is its error."""


class SimulationError(TrialbedError):
    """A simulator could not answer; the virtual API answers with an API error and caches nothing."""


class JudgeError(TrialbedError):
    """A judge gave no usable verdict; recorded as the score's error."""
