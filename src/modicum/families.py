"""Exponential families with conjugate priors (gomes2008, section 2.3.2): all that a mixture asks of its components.

A family sees rows through their statistics, vectors that are added: a group of rows is known by its count and the sum
of its statistics, whatever their number. `counts` and `sums` below are those of one group per entry. What a posterior
expects of the log-likelihood is linear in the statistics, so all rows (or means of groups) against all components are
one matrix product.
"""

import copy
import inspect
import math
from abc import abstractmethod
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import digamma, gammaln

from modicum._jit.families import log_one_plus_squares
from modicum.exceptions import DataError
from modicum.invariants import ABSENT, AbsentWhile, Array, Real, Scope, Violation, Whole
from modicum.params import NULL, Constraint, OneOf, Where
from modicum.state import Part

LOG_2PI = math.log(2 * math.pi)
FLAT = 1e-12  # of the variance of all columns together: the least a column's variance counts in a default prior
SMALLEST = 1e-290  # a variance below it has lost its digits, or one over it overflows
ROUNDING = 4 * np.finfo(np.float64).eps  # of sums of squares, per column
FIRST_SHARE = 0.1  # of the variance of a column: what components are expected to have before any is known
LEAST_SHARE = 1e-6  # what they are expected to have at least, however narrow those found are
POWER_STEPS = 30  # towards a principal direction: enough to cut along it
TINY = 1e-300
LARGEST = 1e140  # value of which sums of squares are finite


_UNBOUND = AbsentWhile(lambda its: its["n_features"] is None)  # a family as it was given knows no columns


class _Open:
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


class Gaussian(Family):
    """What Gaussians with full and with diagonal covariances share.

    Statistics are taken about the prior's mean: only near the rows do squares keep their digits.
    """

    _invariants = {
        "mean": [Array("float64", "n_features"), _Open()],
        "mean_weight": [Real(above=0.0), _Open()],
        "degrees": [NULL, Real(above=0.0), _Open()],
        "_least": [ABSENT, NULL, Array("float64", "n_features", above=0.0)],
        "_degrees": [_UNBOUND, Real(above=0.0)],
        "_log_det": [_UNBOUND, Real()],
    }

    _degrees: float  # of the prior, once bound
    _least: np.ndarray | None = None  # expected variances, if they are fitted

    def __init__(
        self, mean: Any = None, covariance: Any = None, *, mean_weight: float = 0.01, degrees: float | None = None
    ):
        self.mean = mean
        self.covariance = covariance
        self.mean_weight = mean_weight
        self.degrees = degrees

    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self.mean + sums[:, : self.n_features] / (self.mean_weight + counts)[:, None]

    def centers(self, averages: np.ndarray) -> np.ndarray:
        return self.mean + averages[:, : self.n_features]

    def check(self, X: np.ndarray, owner: str) -> None:
        if max(float(X.max()), -float(X.min())) > LARGEST:
            raise DataError(f"{owner}: a value is beyond {LARGEST:g}; its square would overflow.")

    def bound(self, X: np.ndarray, weight: np.ndarray) -> Self:
        family, d = copy.copy(self), X.shape[1]
        center = np.average(X, axis=0, weights=weight)
        family.n_features = d
        family.mean = center if self.mean is None else family._given("mean", self.mean)
        if self.covariance is None:
            variances = np.average((X - center) ** 2, axis=0, weights=weight)
            variances[(variances < (ROUNDING * center) ** 2) | (variances < SMALLEST)] = 0.0
            variances = np.maximum(variances, FLAT * variances.sum()) if variances.any() else np.ones(d)
            family.covariance, family._least = FIRST_SHARE * variances, LEAST_SHARE * variances
        if not self.mean_weight > 0:
            raise ValueError(f"{type(self).__name__}: mean_weight must be positive; got {self.mean_weight}.")
        family._settle()
        return family

    def _own_degrees(self, default: float, above: float) -> float:
        degrees = default if self.degrees is None else float(self.degrees)
        if not above < degrees < np.inf:
            raise ValueError(f"{type(self).__name__}: degrees must be above {above:g} here; got {self.degrees}.")
        return degrees

    def fitted(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        if self._least is None or counts.mean() <= self._degrees:  # few rows say little about what to expect
            return self
        family = copy.copy(self)
        family.covariance = np.maximum(1 / self._expected_precisions(counts, sums).mean(axis=0), self._least)
        family._settle()
        return family

    @abstractmethod
    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Diagonals of the precisions that posteriors expect."""

    @abstractmethod
    def _settle(self) -> None:
        """Complete the prior of a bound family."""

    @property
    def _scatter(self) -> np.ndarray:
        return self._degrees * self.covariance


class FullGaussian(Gaussian):
    """Gaussians with full covariances; the prior of mean and precision is Normal-Wishart.

    Parameters
    ----------
    mean : array of shape (d,), default=None
        Where means are expected; by default the mean of the first rows.
    covariance : float or array of shape (d,) or (d, d), default=None
        The covariance expected of a component, strictly the inverse of the expected precision: one variance for all
        columns, one for each, or the whole matrix. By default a variance for each column is fitted along with the
        components: that under which they are most likely.
    mean_weight : float, default=0.01
        Rows that the expected mean counts for.
    degrees : float, default=None
        Degrees of freedom, above d - 1 and by default d + 2: so many rows does the expected covariance count for.
    """

    _invariants = {"covariance": [Array("float64", "n_features", "n_features"), _Open()]}

    name = "gaussian"

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return n_features * (n_features + 3) // 2

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return n_features * (n_features + 1)

    def _settle(self) -> None:
        d = self.n_features
        self._degrees = self._own_degrees(default=d + 2.0, above=d - 1.0)
        if np.shape(self.covariance) != (d, d) or d == 1:
            self.covariance = np.diag(self._given("covariance", np.ravel(self.covariance)))
        self.covariance = np.asarray(self.covariance, np.float64)
        try:
            self._log_det = float(_log_dets(np.linalg.cholesky(self._scatter[None]))[0])
            symmetric = np.allclose(self.covariance, self.covariance.T)
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric:
            raise ValueError(f"{type(self).__name__}: covariance must be symmetric and positive definite.")

    def statistics(self, X: np.ndarray) -> np.ndarray:
        d = self.n_features
        out = np.empty((len(X), self.n_statistics))
        out[:, :d] = X
        out[:, :d] -= self.mean
        stop = d
        for i in range(d):  # a row of the lower triangle of x x'
            start, stop = stop, stop + i + 1
            np.multiply(out[:, : i + 1], out[:, i : i + 1], out=out[:, start:stop])
        return out

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, before = self.n_features, self._degrees
        _, roots = self._posterior(counts, sums)
        log_dets = _log_dets(roots)
        degrees = before + counts
        return (
            -0.5 * counts * d * math.log(math.pi)
            + _log_gammas(degrees, d)
            - _log_gammas(before, d)
            + 0.5 * (before * self._log_det - degrees * log_dets)
            + 0.5 * d * np.log(self.mean_weight / (self.mean_weight + counts))
        )

    def expected(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        degrees = self._degrees + counts
        inverses = np.linalg.inv(roots)
        precisions = degrees[:, None, None] * (inverses.swapaxes(1, 2) @ inverses)
        pulls = np.einsum("kij,kj->ki", precisions, means)
        log_precisions = digamma(0.5 * (degrees[:, None] - np.arange(d))).sum(axis=1) + d * math.log(2)
        log_precisions -= _log_dets(roots)
        offsets = 0.5 * (log_precisions - d * LOG_2PI - d / (self.mean_weight + counts))
        offsets -= 0.5 * np.einsum("ki,ki->k", pulls, means)
        rows, columns = _triangle(d)
        twice = np.where(rows == columns, -0.5, -1.0)  # off the diagonal a product stands for two entries
        return np.concatenate([pulls, twice * precisions[:, rows, columns]], axis=1), offsets

    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        inverses = np.linalg.inv(self._posterior(counts, sums)[1])
        return (self._degrees + counts)[:, None] * np.einsum("kij,kij->kj", inverses, inverses)

    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        weights = self.mean_weight + counts
        degrees = self._degrees + counts - d + 1
        spreads = (weights + 1) / (weights * degrees)
        gaps = self._square_gaps(X, means, roots) / (spreads * degrees)
        heights = gammaln(0.5 * (degrees + d)) - gammaln(0.5 * degrees) - 0.5 * d * np.log(math.pi * degrees * spreads)
        return heights - 0.5 * _log_dets(roots) - 0.5 * (degrees + d) * np.log1p(gaps)

    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        degrees = self._degrees + counts
        heights = -0.5 * (d * LOG_2PI + _log_dets(roots) - d * np.log(degrees))
        return heights - 0.5 * degrees * self._square_gaps(X, means, roots)

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        _, roots = self._posterior(counts, sums)
        return roots @ roots.swapaxes(1, 2) / (self._degrees + counts)[:, None, None]

    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        d, group = self.n_features, _groups(starts, len(counts))
        means = _means(counts, averages, starts)
        scatter = self._unpacked(means) - means[:, :d, None] * means[:, None, :d]
        steps, units = averages[:, :d] - means[group, :d], np.sqrt(np.diagonal(self.covariance))
        directions = _leading(scatter), _leading(scatter / np.outer(units, units)) / units
        return np.stack([np.einsum("id,id->i", steps, along[group]) for along in directions], axis=1)

    def from_origin_of(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, step = self.n_features, other.mean - self.mean
        moved = sums.copy()
        moved[:, :d] += counts[:, None] * step
        cross = sums[:, :d, None] * step
        products = cross + cross.swapaxes(1, 2) + counts[:, None, None] * np.outer(step, step)
        moved[:, d:] += products[:, *_triangle(d)]
        return moved

    def _posterior(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means, about the prior's, and Cholesky factors of the scatter."""
        weights = self.mean_weight + counts
        means = sums[:, : self.n_features] / weights[:, None]
        products = self._unpacked(sums)
        scatter = self._scatter + products - weights[:, None, None] * means[:, :, None] * means[:, None, :]
        across = np.arange(self.n_features)
        rounding = self.n_features * ROUNDING * np.abs(products[:, across, across])
        while True:  # what cancels leaves rounding, in parts of larger groups more than of their own
            scatter[:, across, across] += rounding
            try:
                return means, np.linalg.cholesky(scatter)
            except np.linalg.LinAlgError:
                rounding = 10 * rounding.max(axis=0)
                if not np.isfinite(rounding).all():
                    raise

    def _unpacked(self, sums: np.ndarray) -> np.ndarray:
        """Sums of products as symmetric matrices."""
        d = self.n_features
        rows, columns = _triangle(d)
        full = np.empty((len(sums), d, d))
        full[:, rows, columns] = full[:, columns, rows] = sums[:, d:]
        return full

    def _square_gaps(self, X: np.ndarray, means: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """(x - mean)' scatter^-1 (x - mean) for all rows and groups."""
        inverses, X = np.linalg.inv(roots), X - self.mean
        gaps = np.empty((len(X), len(means)))
        for k, (inverse, mean) in enumerate(zip(inverses, means, strict=True)):
            steps = (X - mean) @ inverse.T
            gaps[:, k] = np.einsum("ij,ij->i", steps, steps)
        return gaps


class DiagonalGaussian(Gaussian):
    """Gaussians with diagonal covariances; the prior of mean and precision is Normal-Gamma in each column.

    Parameters
    ----------
    mean : array of shape (d,), default=None
        Where means are expected; by default the mean of the first rows.
    covariance : float or array of shape (d,), default=None
        The variances expected of a component, strictly the inverses of expected precisions. By default they are fitted
        along with the components: those under which they are most likely.
    mean_weight : float, default=0.01
        Rows that the expected mean counts for.
    degrees : float, default=None
        Degrees of freedom, above 0 and by default 3: so many rows do the expected variances count for.
    """

    _invariants = {"covariance": [Array("float64", "n_features", above=0.0), _Open()]}

    name = "diagonal"

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return 2 * n_features

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return 2 * n_features

    def _settle(self) -> None:
        self._degrees = self._own_degrees(default=3.0, above=0.0)
        self.covariance = self._given("covariance", self.covariance)
        if not (self.covariance > 0).all():
            raise ValueError(f"{type(self).__name__}: covariance must be positive.")
        self._log_det = float(np.log(self._scatter).sum())

    def statistics(self, X: np.ndarray) -> np.ndarray:
        steps = X - self.mean
        return np.concatenate([steps, steps**2], axis=1)

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, before = self.n_features, self._degrees
        _, scatter = self._posterior(counts, sums)
        degrees = before + counts
        return (
            -0.5 * counts * d * math.log(math.pi)
            + d * (gammaln(0.5 * degrees) - gammaln(0.5 * before))
            + 0.5 * (before * self._log_det - degrees * np.log(scatter).sum(axis=1))
            + 0.5 * d * np.log(self.mean_weight / (self.mean_weight + counts))
        )

    def expected(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.n_features
        means, scatter = self._posterior(counts, sums)
        degrees = self._degrees + counts
        precisions = degrees[:, None] / scatter
        log_precisions = d * (digamma(0.5 * degrees) + math.log(2)) - np.log(scatter).sum(axis=1)
        offsets = 0.5 * (log_precisions - d * LOG_2PI - d / (self.mean_weight + counts))
        offsets -= 0.5 * (precisions * means**2).sum(axis=1)
        return np.concatenate([precisions * means, -0.5 * precisions], axis=1), offsets

    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return (self._degrees + counts)[:, None] / self._posterior(counts, sums)[1]

    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        means, scatter = self._posterior(counts, sums)
        weights = self.mean_weight + counts
        degrees = self._degrees + counts
        widths = scatter * ((weights + 1) / weights)[:, None]  # squared, times degrees
        heights = self.n_features * (gammaln(0.5 * (degrees + 1)) - gammaln(0.5 * degrees))
        heights = heights - 0.5 * np.log(math.pi * widths).sum(axis=1)
        logs = np.empty((len(X), len(counts)))
        log_one_plus_squares(X - self.mean, means, widths, logs)
        return heights - 0.5 * (degrees + 1) * logs

    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        variances, means = self.covariances(counts, sums), self.means(counts, sums)
        heights = -0.5 * (np.log(variances).sum(axis=1) + self.n_features * LOG_2PI)
        out = np.empty((len(X), len(counts)))
        for k in range(len(counts)):
            out[:, k] = ((X - means[k]) ** 2 / variances[k]).sum(axis=1)
        return heights - 0.5 * out

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self._posterior(counts, sums)[1] / (self._degrees + counts)[:, None]

    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        d, group = self.n_features, _groups(starts, len(counts))
        means = _means(counts, averages, starts)
        steps = averages[:, :d] - means[group, :d]
        within = _means(counts, averages[:, d:] - averages[:, :d] ** 2, starts)
        columns = []
        for units in (np.ones(d), np.sqrt(self.covariance)):
            directions = _principal(steps / units, counts, starts, within / units**2) / units
            columns.append(np.einsum("id,id->i", steps, directions[group]))
        return np.stack(columns, axis=1)

    def from_origin_of(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, step = self.n_features, other.mean - self.mean
        moved = sums.copy()
        moved[:, :d] += counts[:, None] * step
        moved[:, d:] += 2 * step * sums[:, :d] + counts[:, None] * step**2
        return moved

    def _posterior(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means, about the prior's, and scatter of columns."""
        d, weights = self.n_features, (self.mean_weight + counts)[:, None]
        means = sums[:, :d] / weights
        return means, self._scatter + np.maximum(sums[:, d:] - weights * means**2, 0.0)


class Multinomial(Family):
    """Rows of counts, such as words of a document; the prior of the frequencies is Dirichlet.

    The likelihood is that of the words in their order: the number of orders, which no component has a say in, is left
    out.

    Parameters
    ----------
    pseudocounts : float or array of shape (d,), default=0.5
        Of the Dirichlet prior: what each column counts before anything is seen.
    """

    _invariants = {"pseudocounts": [Array("float64", "n_features", above=0.0), _Open()]}

    name = "multinomial"

    def __init__(self, pseudocounts: Any = 0.5):
        self.pseudocounts = pseudocounts

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return n_features

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return n_features

    def centers(self, averages: np.ndarray) -> np.ndarray:
        return averages

    def bound(self, X: np.ndarray, weight: np.ndarray) -> Self:
        family = copy.copy(self)
        family.n_features = X.shape[1]
        family.pseudocounts = family._given("pseudocounts", self.pseudocounts)
        if not (family.pseudocounts > 0).all():
            raise ValueError(f"Multinomial: pseudocounts must be positive; got {self.pseudocounts!r}.")
        return family

    def check(self, X: np.ndarray, owner: str) -> None:
        bad = np.argwhere(X < 0)
        if len(bad):
            row, column = map(int, bad[0])
            raise DataError(
                f'{owner}: family="multinomial" takes counts; row {row}, column {column} of this chunk is '
                f"{X[row, column]}."
            )

    def statistics(self, X: np.ndarray) -> np.ndarray:
        return X.astype(np.float64)

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        before = self.pseudocounts
        after = before + sums
        change = gammaln(after).sum(axis=1) - gammaln(before).sum()
        return change + gammaln(before.sum()) - gammaln(after.sum(axis=1))

    def expected(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = self.pseudocounts + sums
        return digamma(after) - digamma(after.sum(axis=1))[:, None], np.zeros(len(sums))

    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        rows, columns = np.nonzero(X)
        values, lengths = X[rows, columns].astype(np.float64), X.sum(axis=1, dtype=np.float64)
        out = np.empty((len(X), len(sums)))
        for k, after in enumerate(self.pseudocounts + sums):
            gains = gammaln(after[columns] + values) - gammaln(after)[columns]
            out[:, k] = np.bincount(rows, gains, len(X)) + gammaln(after.sum()) - gammaln(after.sum() + lengths)
        return out

    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return X @ np.log(self.means(counts, sums)).T

    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        after = self.pseudocounts + sums
        return after / after.sum(axis=1, keepdims=True)

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        raise AttributeError("multinomial components have frequencies (means_) and no covariances.")

    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        lengths, group = averages.sum(axis=1), _groups(starts, len(counts))
        shares = averages / np.maximum(lengths, TINY)[:, None]
        steps = shares - _means(counts * lengths, shares, starts)[group]
        directions = _principal(steps, counts * lengths, starts, np.zeros((len(starts), self.n_features)))
        return np.einsum("id,id->i", steps, directions[group])[:, None]

    def from_origin_of(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return sums


def _groups(starts: np.ndarray, count: int) -> np.ndarray:
    """The group of each item."""
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=count))


def _means(weights: np.ndarray, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Weighted means of groups."""
    totals = np.maximum(np.add.reduceat(weights, starts), TINY)
    return np.add.reduceat(weights[:, None] * values, starts) / totals[:, None]


def _leading(scatter: np.ndarray) -> np.ndarray:
    """The leading eigenvectors of positive semidefinite matrices, as well as a few powers of them tell."""
    largest = np.abs(scatter).sum(axis=2).argmax(axis=1)
    directions = _normalized(scatter[np.arange(len(scatter)), largest])
    for _ in range(POWER_STEPS):
        directions = _normalized(np.einsum("gij,gj->gi", scatter, directions))
    return directions


def _principal(steps: np.ndarray, weights: np.ndarray, starts: np.ndarray, within: np.ndarray) -> np.ndarray:
    """The same for scatters of the steps of groups of items, with variances of columns added that are within items."""
    group = _groups(starts, len(steps))
    shares = weights / np.maximum(np.add.reduceat(weights, starts), TINY)[group]
    long = shares * np.einsum("id,id->i", steps, steps)
    order = np.lexsort([-long, group])[starts]  # the longest step of each group
    directions = _normalized(steps[order])
    for _ in range(POWER_STEPS):
        along = shares * np.einsum("id,id->i", steps, directions[group])
        directions = _normalized(np.add.reduceat(along[:, None] * steps, starts) + within * directions)
    return directions


def _normalized(directions: np.ndarray) -> np.ndarray:
    directions = directions / np.maximum(np.abs(directions).max(axis=1, keepdims=True), TINY)  # squares stay finite
    return directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), TINY)


@lru_cache(maxsize=8)
def _triangle(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the lower triangle, in the order of statistics."""
    rows, columns = np.tril_indices(width)
    return rows, columns


def _log_gammas(degrees: Any, width: int) -> np.ndarray:
    """Sum of log Gamma((degrees - i) / 2): the multivariate gamma function but for a constant."""
    return gammaln(0.5 * (np.asarray(degrees)[..., None] - np.arange(width))).sum(axis=-1)


def _log_dets(roots: np.ndarray) -> np.ndarray:
    return 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)


FAMILIES: dict[str, type[Family]] = {family.name: family for family in (FullGaussian, DiagonalGaussian, Multinomial)}


def as_family(spec: "str | Family") -> Family:
    """A family by its name, with default priors, or as it is.

    >>> as_family("diagonal").name
    'diagonal'
    """
    return FAMILIES[spec]() if isinstance(spec, str) else spec


FAMILY: list[Constraint] = [OneOf(*FAMILIES), Where(lambda value: isinstance(value, Family), "a Family")]
