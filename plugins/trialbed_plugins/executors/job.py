"""Run one order of a remote executor on this machine, either a trial or the description of a framework.

``python -m trialbed_plugins.executors.job`` reads an order as JSON from standard input and writes its result to
standard output, an ``Outcome`` or a ``FrameworkInfo``. If it cannot run the order, it explains this on standard error
and exits with 2 or 3. Any other exit code has an outside cause, since an agent's failure is an ``Outcome``.
"""

from __future__ import annotations

import asyncio
import sys
import traceback

from pydantic import Field, ValidationError

from trialbed.contracts import LostTrial
from trialbed.environments import EnvironmentStore, locked_environment
from trialbed.errors import TrialbedError, UsageError
from trialbed.records import Environment, Record, TrialSpec
from trialbed.settings import env_dir
from trialbed.worker import waited_at
from trialbed_plugins.executors.local import LocalExecutor


class JobOrder(Record):
    """An order to a machine.

    Attributes:
        trial: the trial to run; None to describe the framework.
        framework: its label in the run.
        lock: the lock of the framework's own environment, which is built here if missing; empty without one.
        server_url: the root of the server as seen from this machine; empty if no trial has been opened.
        options: options of the local executor, such as ``memory``.
    """

    framework: str
    trial: TrialSpec | None = None
    lock: str = Field(default="", repr=False)
    server_url: str = ""
    options: dict[str, str] = Field(default={})


def run_job(order: str) -> str:
    """Run an order, and return its result. Both are JSON.

    Raises:
        UsageError: it is not an order; the message explains this without quoting it.
        TrialbedError: it cannot be run here; the message says why.
    """
    try:
        read = JobOrder.model_validate_json(order)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        wrong = "; ".join(": ".join((*map(str, one["loc"]), one["msg"])) for one in found)
        raise UsageError(f"standard input is not an order: {wrong}") from None
    return asyncio.run(_run(read))


async def _run(order: JobOrder) -> str:
    executor = LocalExecutor(environments=await _environments(order))
    executor.options = order.options
    if order.server_url:
        executor.waited = waited_at(order.server_url)
        executor.connect(order.server_url)
    async with executor:
        if order.trial is None:
            return (await executor.describe(order.framework)).model_dump_json()
        found = await executor.execute(order.trial)
        return (found.outcome() if isinstance(found, LostTrial) else found).model_dump_json()


async def _environments(order: JobOrder) -> dict[str, Environment]:
    if not order.lock:
        return {}
    return {order.framework: await locked_environment(order.framework, order.lock, EnvironmentStore(env_dir()))}


def main() -> int:
    """Run the order on standard input, and return the exit status."""
    try:
        sys.stdout.write(run_job(sys.stdin.read()) + "\n")
    except TrialbedError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    except Exception:  # noqa: BLE001 - Python's 1 is also the code of programs that start others
        traceback.print_exc()
        return TrialbedError.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
