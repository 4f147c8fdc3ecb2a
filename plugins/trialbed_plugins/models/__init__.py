"""Models: what serves one for a run; drivers of ``trialbed.models``."""
