"""Run the kit with ``python -m trialbed_adapter_lab --framework NAME`` in the interpreter that has an adapter.

``bench adapter check`` starts it there, passes its lines on standard error on, and reads its report.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence

from trialbed.errors import TrialbedError, UsageError
from trialbed.files import temporary_folder
from trialbed.records import Deviation
from trialbed.worker import command_agent
from trialbed_adapter_lab import LEVELS, PROBES, QUICK, CheckFinding, check_adapter
from trialbed_adapter_lab.probe import FAILS_EARLY, MARKS

USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one adapter; the exit code is 0 if the adapter conforms, 1 if it does not, 2 if it could not be checked."""
    options = _options(arguments)
    try:
        if options.play:
            return _play(options.framework)
        wanted = {"name": options.check, "theme": options.theme}
        chosen = [
            probe
            for probe in (QUICK if options.quick else PROBES)
            if all(not names or getattr(probe, field) in names for field, names in wanted.items())
        ]
        pairs = [one.partition("=") for one in options.known]
        known = [Deviation(check=check, text=reason) for check, _, reason in pairs]
        # Frameworks and programs write files where they run.
        with temporary_folder() as folder, contextlib.chdir(folder):
            agent = options.framework
            if options.command:
                agent, _ = command_agent(options.framework, options.command)
            report = check_adapter(agent, chosen, level=options.level, known=known, progress=_print)
    except TrialbedError as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    sys.stdout.write(f"{report.model_dump_json()}\n")
    return 0 if report.ok else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m trialbed_adapter_lab")
    parser.add_argument("--framework", required=True)
    parser.add_argument("--command")
    parser.add_argument("--known", action="append", default=[])
    parser.add_argument("--check", action="append")
    parser.add_argument("--theme", action="append")
    parser.add_argument("--level", choices=(*LEVELS, "info"), default=LEVELS[-1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--play", action="store_true")
    return parser.parse_args(arguments)


def _play(framework: str) -> int:
    """Answer the conversations on standard input, for ``bench adapter check --fuzz``."""
    from trialbed_adapter_lab.fuzz import Conversation, playing
    from trialbed_adapter_lab.harness import like_a_worker, named_agent

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # The output of a framework must not be taken for an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with like_a_worker():
        agent, names = named_agent(framework)
        print(json.dumps([names["framework"], f"{agent.__module__}:{agent.__qualname__}"]), file=answers, flush=True)
        with playing(agent) as play:
            for line in sys.stdin:
                print(json.dumps(play(Conversation.model_validate_json(line))), file=answers, flush=True)
    return 0


def _print(finding: CheckFinding) -> None:
    """Print a finding.

    Raises:
        UsageError: a program fails to give even a plain answer, so other checks would add nothing.
    """
    if finding.check == "plain_answer" and finding.cause.startswith(f"{FAILS_EARLY}, with CommandFailed"):
        raise UsageError(
            f"the program does not ask the model, so no further check was run\n"
            f"{finding.message.splitlines()[0].rpartition('CommandFailed: ')[2]}\n"
            f"Files in the command are looked up in the working directory; try the program there first."
        )
    mark = MARKS[finding.outcome]
    lines = [f"{mark} {finding.check} ({finding.level}, {finding.seconds:.2f} s) {finding.outcome}"]
    lines += [f"    {line}" for line in finding.message.splitlines()]
    sys.stderr.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads that a framework left running must not keep the process alive.
    os._exit(code)
