"""The executor of agents that are not objects of this process."""

from __future__ import annotations

from typing import cast

from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.preparation import Prepared, executor_options, hidden_paths


def worker_executor(prepared: Prepared, given: Executor | None = None) -> Executor:
    """Return the executor of the frameworks and programs of a run, which is not entered yet.

    Args:
        given: the executor; the driver that the options name if None.
    """
    options = prepared.options
    executor = given or cast("Executor", load_driver("executors", options.executor)(environments=options.environments))
    executor.options = executor_options(options)
    executor.concurrency = options.concurrency
    executor.hidden = hidden_paths(options, prepared.dataset.files)
    executor.commands = dict(prepared.commands)
    return executor
