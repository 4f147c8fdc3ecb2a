"""The settings of a replay, and the check of the settings that a folder asks for.

A folder may come from someone else, so a replay accepts only manifests in the form that ``bench publish`` writes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from trialbed.settings import declared_settings, is_secret

DATASETS = "datasets"
"""The folder of the files of datasets."""

FRAMEWORK, AGAINST, QUERY, MARGIN = "--framework", "--against", "--query-id", "--margin"

ASKING = ("judge_model", "selector_model", "simulator_model", "user_model")
"""Settings that name helper models, which are not recorded."""

HERE = ("commands", "judge_prompts", "sandbox")
"""Settings that depend on the programs, folders and kernel of the run's machine."""

LEFT_OUT = frozenset({"dataset", "model", "model_name", "base_url", "on_miss", "frameworks", *ASKING, *HERE})
"""Settings whose arguments are the replay's own, are told apart, or with which no run is made again."""

FOLDERS = ("TRIALBED_DATA_DIR", "TRIALBED_ENV_DIR", "TRIALBED_INDEX_DIR", "TRIALBED_WEIGHTS_DIR")
"""The variables of Trialbed that a replay keeps: others are settings of the user's own runs."""

RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
DATASET = re.compile(r"[A-Za-z0-9][\w.+-]*(:[\w.+ -]+)?")

PLAIN = {
    FRAMEWORK: re.compile(r"[A-Za-z0-9][\w-]*(:[\w-]+)?(==[\w.+!-]+)?"),
    "--selector": re.compile(r"[\w-]+"),
    "--judge": re.compile(r"[\w.-]+"),
    "--catalog": re.compile(r"[\w-]+(:[\w+ -]+)?"),
    "--faults": re.compile(r"\A\{.*\}", re.DOTALL),
}
"""The values of options that may otherwise name a file, Python code in one, or an address."""


def replay_variables(own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a replay, without keys and without settings other than folders."""
    kept = {
        name: value for name, value in own.items() if not is_secret(name, value) and not name.startswith("TRIALBED_")
    }
    return kept | {name: str(Path(own[name]).resolve()) for name in FOLDERS if own.get(name)}


def replayed_settings() -> dict[str, str]:
    """Return the settings of a run's identity that a replay gets as arguments: name -> option."""
    return {
        item.name: item.setting.option[-1]
        for item in declared_settings()
        if item.identity and item.name not in LEFT_OUT
    }


def wrong_source(dataset: str, arguments: Sequence[str], files: Container[str]) -> str:
    """Describe a request that a replay must reject; empty if the source has the form that ``bench publish`` writes.

    Args:
        files: the names of the folder's files.
    """
    in_folder = dataset.startswith(f"{DATASETS}/") and dataset in files
    if not in_folder and (not DATASET.fullmatch(dataset) or ".py" in dataset):
        return f"{dataset!r:.60} is neither a dataset's name nor a file of the folder below {DATASETS}"
    if len(arguments) % 2:
        return "an option has no value"
    known = {FRAMEWORK, AGAINST, QUERY, MARGIN, *replayed_settings().values()}
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        if option not in known:
            return f"{option!r:.60} is no option of a replay"
        form = PLAIN.get(option)
        if form is not None and (not form.fullmatch(value) or (option != "--faults" and ".py" in value)):
            return f"{option} {value!r:.60} is not what a replay may be asked for"
    return ""
