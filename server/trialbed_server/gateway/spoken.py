"""The dialects in which the models of an endpoint answer."""

from __future__ import annotations

Spoken = tuple[str, str]
"""A model and the name of a dialect."""


class SpokenDialects:
    """An endpoint's dialects, by model: it may serve several models in different ones.

    Attributes:
        answered: the models that have answered in a dialect.
        refused: those that have not.
        sought: those for which another dialect than that of the request was sought in vain.
    """

    def __init__(self) -> None:
        self.answered: set[Spoken] = set()
        self.refused: set[Spoken] = set()
        self.sought: set[Spoken] = set()

    def lacks(self, model: str, name: str) -> bool:
        """Return whether a model is known not to answer in a dialect."""
        # Of two requests at the same time, one may be refused in a dialect in which the other is answered.
        return (model, name) in self.refused and (model, name) not in self.answered
