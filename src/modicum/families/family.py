"""Exponential families with conjugate priors (gomes2008, section 2.3.2): all that a mixture asks of its components.

A family sees rows through their statistics, vectors that are added: a group of rows is known by its count and the sum
of its statistics, whatever their number. `counts` and `sums` below are those of one group per entry. What a posterior
expects of the log-likelihood is linear in the statistics, so all rows (or means of groups) against all components are
one matrix product.
"""

import inspect
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from modicum.rules.invariants import ABSENT, AbsentWhile, Scope, Violation, Whole
from modicum.state.part import Part

UNBOUND = AbsentWhile(lambda its: its["n_features"] is None)  # a family as it was given knows no columns


class Open:
    """The rule for what may be left open, or given in any form, in a family that is not bound to columns yet."""

    def check(self, value: Any, scope: Scope) -> None:
        if hasattr(scope.owner, "n_features"):
            raise Violation("given, as the family is bound to columns")


class Family(Part):
    """Likelihood of rows and its conjugate prior.

    A subclass writes the methods that raise `NotImplementedError` here, and `fitted` and `check` where it needs them.
    """

    _invariants = {"n_features": [ABSENT, Whole(1)]}

    name: ClassVar[str]
    n_features: int

    @staticmethod
    @abstractmethod
    def n_statistics_of(n_features: int) -> int:
        """Numbers that tell a group of rows of so many columns, besides their count."""

    @staticmethod
    @abstractmethod
    def n_prior_of(n_features: int) -> int:
        """Numbers that tell the prior."""

    @property
    def n_statistics(self) -> int:
        return self.n_statistics_of(self.n_features)

    @abstractmethod
    def bound(self, X: np.ndarray, weight: np.ndarray) -> Self:
        """This family for the columns of X, with what was left open in the prior set by the scale of X."""

    @abstractmethod
    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Statistics of each row."""

    @abstractmethod
    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """log p(rows of the group), parameters integrated out."""

    @abstractmethod
    def expected(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(slopes, offsets): the posterior expects a log-likelihood of statistics @ slopes.T + offsets."""

    @abstractmethod
    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """log p(row | rows of the group) for all rows and groups; a count of 0 is the prior's own prediction."""

    @abstractmethod
    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """As `log_predictive`, with parameters at their posterior means as if they were known."""

    @abstractmethod
    def centers(self, averages: np.ndarray) -> np.ndarray:
        """Mean rows of items with the given mean statistics."""

    def fitted(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        """This family, with what was left open in its prior set to what makes these groups most likely."""
        return self

    def divergence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Kullback-Leibler divergence of the posterior from the prior."""
        slopes, offsets = self.expected(counts, sums)
        return np.einsum("kp,kp->k", slopes, sums) + counts * offsets - self.log_evidence(counts, sums)

    @abstractmethod
    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Posterior means of what rows are on average."""

    @abstractmethod
    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Inverses of the precisions that posteriors expect."""

    @abstractmethod
    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Items, by counts and mean statistics, along principal directions of the rows of their groups.

        Items of a group follow each other, from its start on. There is a column for each direction, 0 at the mean of
        the group. Gaussians have two: in the units that columns come in, and in those of the expected variances.
        """

    @abstractmethod
    def from_origin_of(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums of statistics that `other` took, as this family would have taken them."""

    def check(self, X: np.ndarray, owner: str) -> None:
        """Raise a `DataError` for rows that the family can't have."""

    def __repr__(self) -> str:
        """What the prior was given."""
        parameters = inspect.signature(type(self)).parameters.values()
        given = {parameter.name: getattr(self, parameter.name) for parameter in parameters}
        told = [f"{at.name}={given[at.name]!r}" for at in parameters if given[at.name] is not at.default]
        return f"{type(self).__name__}({', '.join(told)})"

    def _given(self, name: str, value: Any) -> np.ndarray:
        """A number for all columns, or one for each."""
        try:
            values = np.broadcast_to(np.asarray(value, np.float64), (self.n_features,)).copy()
        except ValueError:
            raise ValueError(
                f"{type(self).__name__}: {name} must have one number for each of {self.n_features} columns."
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(f"{type(self).__name__}: {name} must be finite; got {value!r}.")
        return values
