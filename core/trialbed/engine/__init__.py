"""The engine: plans, runs, observes, scores, stores and resumes trials."""

from trialbed.engine._benchmark import arun_benchmark, run_benchmark
from trialbed.engine._dataset import choose_queries, dataset_driver, open_dataset
from trialbed.engine._identity import trial_seed
from trialbed.engine._options import DEFAULT_OUTPUT, RunOptions
from trialbed.engine._progress import Progress, Silent
from trialbed.engine._run import run

__all__ = [
    "DEFAULT_OUTPUT",
    "Progress",
    "RunOptions",
    "Silent",
    "arun_benchmark",
    "choose_queries",
    "dataset_driver",
    "open_dataset",
    "run",
    "run_benchmark",
    "trial_seed",
]
