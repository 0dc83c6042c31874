"""Guarantees: what a theorem says about a learner, with its numbers and conditions."""

from abc import ABC, abstractmethod


class Guarantee(ABC):
    """A bound with its conditions. `str()` is the sentence to show; subclasses have the numbers as attributes.

    Attributes
    ----------
    confidence : float
        The probability with which the bound holds; 1 if it is certain.
    conditions : tuple of str
        What must hold and is not checked.
    """

    confidence: float
    conditions: tuple[str, ...]

    @property
    @abstractmethod
    def says_something(self) -> bool:
        """Whether the bound is better than the trivial one; if not, it is vacuous here."""

    @abstractmethod
    def __str__(self) -> str: ...
