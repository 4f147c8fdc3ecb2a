"""Reports as stores keep them: figures that need not be made anew from the trials."""

from trialbed.report.kept._figures import (
    FrameworkHeadline,
    difference_of_kept,
    headlines,
    make_report,
    stored_report,
)

__all__ = ["FrameworkHeadline", "difference_of_kept", "headlines", "make_report", "stored_report"]
