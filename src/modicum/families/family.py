"""The interface of exponential families with conjugate priors (gomes2008, section 2.3.2).

A family represents rows by their sufficient statistics, which are additive: a group of any number of rows is
represented by its count and the sum of its statistics. `counts` and `sums` below have one entry per group. The
expected log-likelihood under a posterior is linear in the statistics, so that of all rows (or means of groups) under
all components is one matrix product.
"""

import inspect
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from modicum.exceptions import DataError
from modicum.rows import is_sparse
from modicum.rules.invariants import ABSENT, AbsentWhile, Scope, Violation, Whole
from modicum.state.part import Part

UNBOUND = AbsentWhile(lambda its: its["n_features"] is None)  # a family is given without the number of columns


class OpenUntilBound:
    """The rule for parameters that may be missing, or given in any form, until the family is bound to columns."""

    def check(self, value: Any, scope: Scope) -> None:
        if hasattr(scope.owner, "n_features"):
            raise Violation("given, as the family is bound to columns")


class Family(Part):
    """Likelihood of rows and its conjugate prior.

    A subclass defines the abstract methods, and `fitted` and `check` where needed. A family is made without data;
    `bind` returns one for the columns of the data, which has all other methods.
    """

    _invariants = {"n_features": [ABSENT, Whole(1)]}

    name: ClassVar[str]
    n_directions: ClassVar[int] = 1  # of `projections`
    takes_sparse: ClassVar[bool] = False
    n_features: int

    @staticmethod
    @abstractmethod
    def n_statistics_of(n_features: int) -> int:
        """Length of the statistics of a group of rows with this many columns, not including the count."""

    @staticmethod
    @abstractmethod
    def n_prior_of(n_features: int) -> int:
        """Number of parameters of the prior."""

    @property
    def n_statistics(self) -> int:
        return self.n_statistics_of(self.n_features)

    @abstractmethod
    def bind(self, X: np.ndarray, weight: np.ndarray) -> Self:
        """This family for the columns of X; parameters of the prior that were not given are set from X."""

    @abstractmethod
    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Statistics of each row."""

    @abstractmethod
    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """log p(rows of the group), with the parameters integrated out."""

    @abstractmethod
    def expected_log_likelihood(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(slopes, offsets): the expected log-likelihood under the posterior is statistics @ slopes.T + offsets."""

    @abstractmethod
    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """log p(row | rows of the group) for all rows and groups; the prior predictive density for a count of 0."""

    @abstractmethod
    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """log p(row | posterior mean of the parameters) for all rows and groups."""

    @abstractmethod
    def centers(self, averages: np.ndarray) -> np.ndarray:
        """Mean rows of items with the given mean statistics."""

    def fitted(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        """This family, with open parameters of the prior set to the most likely values for these groups."""
        return self

    def divergence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Kullback-Leibler divergence of the posterior from the prior."""
        slopes, offsets = self.expected_log_likelihood(counts, sums)
        return np.einsum("kp,kp->k", slopes, sums) + counts * offsets - self.log_evidence(counts, sums)

    @abstractmethod
    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Posterior means of the mean row."""

    @abstractmethod
    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Inverses of the expected precisions under the posterior."""

    @abstractmethod
    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Projections of items, given by counts and mean statistics, on principal directions of their groups.

        Items are sorted by group; `starts` is the index of the first item of each group. There is a column for each
        direction, 0 at the mean of the group. Gaussians have two directions: of the columns as they are, and of the
        columns scaled by their expected standard deviations.
        """

    @abstractmethod
    def translated_from(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums of statistics of `other`, translated from its origin to that of this family."""

    def check(self, X: Any, owner: str) -> None:
        """Raise a `DataError` for rows outside the support of the family."""
        self.check_kind(X, owner)

    def check_kind(self, X: Any, owner: str) -> None:
        """Raise a `DataError` for sparse rows, unless the family takes them."""
        if is_sparse(X) and not self.takes_sparse:
            raise DataError(
                f'{owner}: rows are sparse, and family="{self.name}" takes dense ones. Give X.toarray(), or '
                'family="multinomial" for counts.'
            )

    def __repr__(self) -> str:
        """The class with those parameters of the prior that are not the defaults."""
        parameters = inspect.signature(type(self)).parameters.values()
        values = [(each.name, getattr(self, each.name), each.default) for each in parameters]
        given = [f"{name}={value!r}" for name, value, default in values if value is not default]
        return f"{type(self).__name__}({', '.join(given)})"

    def _per_column(self, name: str, value: Any) -> np.ndarray:
        """A parameter as an array of one number per column; it may be given as one number for all."""
        try:
            values = np.broadcast_to(np.asarray(value, np.float64), (self.n_features,)).copy()
        except ValueError:
            raise ValueError(
                f"{type(self).__name__}: {name} must have one number for each of {self.n_features} columns."
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(f"{type(self).__name__}: {name} must be finite; got {value!r}.")
        return values
