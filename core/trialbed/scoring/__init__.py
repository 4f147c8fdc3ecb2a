"""Scores of a trial: the context of a scorer, the run's judge and its calibration, and the scores that mean quality."""

from trialbed.scoring._bounds import (
    LONGEST_ANSWER,
    MEMORY,
    PROCESSOR_SECONDS,
    SILENT_SECONDS,
    ScoringStopped,
    is_short,
    trial_size,
)
from trialbed.scoring._calibration import (
    CALIBRATIONS,
    CRITERIA_CALIBRATION,
    MIN_CASES,
    Calibration,
    calibration_of,
    judge_identity,
    judge_note,
    kept_calibrations,
)
from trialbed.scoring._context import CheckResult, ScoreContext
from trialbed.scoring._counting import (
    ALWAYS,
    OF_SOME,
    TIMES,
    absent_scores,
)
from trialbed.scoring._expected import (
    NOT_OFFERED,
    Check,
    Expectation,
    criterion_name,
    expectations,
    has_expectations,
    never_called,
    run_checks,
    run_criteria,
)
from trialbed.scoring._judged import JUDGED, RULE, ask_judge, judge_label, judged_score, open_criteria
from trialbed.scoring._judges import FunctionJudge, JudgeFunction, RelayedJudge, as_judge, judge_apart, make_judge
from trialbed.scoring._scorers import ScoreFunction, Scorer, scorer
from trialbed.scoring._words import score_heading, score_words

__all__ = [
    "ALWAYS",
    "CALIBRATIONS",
    "CRITERIA_CALIBRATION",
    "JUDGED",
    "LONGEST_ANSWER",
    "MEMORY",
    "MIN_CASES",
    "NOT_OFFERED",
    "OF_SOME",
    "PROCESSOR_SECONDS",
    "RULE",
    "SILENT_SECONDS",
    "TIMES",
    "Calibration",
    "Check",
    "CheckResult",
    "Expectation",
    "FunctionJudge",
    "JudgeFunction",
    "RelayedJudge",
    "ScoreContext",
    "ScoreFunction",
    "Scorer",
    "ScoringStopped",
    "absent_scores",
    "as_judge",
    "ask_judge",
    "calibration_of",
    "criterion_name",
    "expectations",
    "has_expectations",
    "is_short",
    "judge_apart",
    "judge_identity",
    "judge_label",
    "judge_note",
    "judged_score",
    "kept_calibrations",
    "make_judge",
    "never_called",
    "open_criteria",
    "run_checks",
    "run_criteria",
    "score_heading",
    "score_words",
    "scorer",
    "trial_size",
]
