"""Predictions of mixtures made of `Components`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import DensityMixin

from modicum.families import Family, Multinomial
from modicum.mixture.components import Components


class MixtureAnswers(DensityMixin):
    """Predictions of an estimator that defines `_mixture` and `_check_input`.

    Predictions are those of the posterior: parameters are integrated out, and rows may belong to components that have
    not been seen yet.
    """

    family: str | Family
    _mixture: Callable[[], Components]
    _check_input: Callable[[Any], Any]

    @property
    def n_components_(self) -> int:
        """Number of components found."""
        return len(self._mixture())

    @property
    def weights_(self) -> np.ndarray:
        """Mean weights of the components found; they sum to 1."""
        return self._mixture().weights

    @property
    def means_(self) -> np.ndarray:
        """Posterior means of component means, or of frequencies for multinomial components."""
        known = self._mixture()
        return known.family.means(known.counts, known.sums)

    @property
    def covariances_(self) -> np.ndarray:
        """Inverses of expected precisions: matrices, or diagonals for diagonal components."""
        known = self._mixture()
        return known.family.covariances(known.counts, known.sums)

    def predict(self, X: Any) -> np.ndarray:
        """The most likely component of each row, among those found."""
        return self._log_joint(X)[:, :-1].argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components found, for each row."""
        joint = self._log_joint(X)[:, :-1]
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log of the predictive density of each row."""
        return logsumexp(self._log_joint(X), axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log of the predictive density of rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def plug_in_score_samples(self, X: Any) -> np.ndarray:
        """Log-density of each row at the mean weights and parameters, for comparison with other mixtures."""
        return self._mixture().log_plug_in(self._check_input(X))

    def novelty(self, X: Any) -> np.ndarray:
        """Probability that a row belongs to a component that has not been seen yet."""
        return self._mixture().novelty(self._check_input(X))

    def _takes_sparse(self) -> bool:
        """Whether rows may be sparse; False for a family that is invalid, which is refused later."""
        return getattr(self.family, "takes_sparse", self.family == Multinomial.name)

    def _log_joint(self, X: Any) -> np.ndarray:
        return self._mixture().log_joint(self._check_input(X))
