"""Options that commands about recordings share."""

from __future__ import annotations

from trialbed.cli.options import FILE, plain_option

model_cache_option = plain_option(
    "--model-cache",
    "cache",
    type=FILE,
    metavar="FILE",
    help="Cache of the model's answers, which has those that are too long for the log. "
    "[default: .trialbed/model-answers.db]",
)
