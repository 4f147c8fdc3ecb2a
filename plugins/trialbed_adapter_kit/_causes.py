"""Causes that many checks fail for, in words."""

FAILS = "the trial fails"
"""How the cause begins of what fails because its trial does."""

FAILS_EARLY = f"{FAILS} before it asks the model"
"""The same, where no check of what comes then can pass."""

ASKED_ON = "the model is asked again after its answer"
"""The cause of what fails because the adapter, or its framework, does not end with the model's answer."""
