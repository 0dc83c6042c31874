"""Moments of all rows, by components that follow them: the online form of EM (neal1998)."""

from dataclasses import dataclass, replace

import numpy as np

from modicum.coreset.covariances import PUBLIC
from modicum.coreset.em import EM
from modicum.coreset.gaussians import Gaussians, nearest_means
from modicum.rules.invariants import Array, Real
from modicum.rules.params import Number, OneOf
from modicum.state.part import Part


@dataclass(frozen=True)
class ComponentSums(Part):
    """Weight, mean and covariance of the rows of each component; they are the components for the rows that follow.

    `judged` is the weight of the rows when the components were last compared with others.
    """

    _invariants = {
        "covariance_type": OneOf(*PUBLIC),
        "reg_covar": Number(0),
        "totals": Array("float64", "k", low=0.0),
        "means": Array("float64", "k", "n_features"),
        "covariances": [Array("float64", "k", "n_features", "n_features"), Array("float64", "k", 1, "n_features")],
        "judged": Real(0.0),
    }

    covariance_type: str
    reg_covar: float
    totals: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    judged: float = 0.0

    @classmethod
    def under(
        cls, model: Gaussians, covariance_type: str, reg_covar: float, X: np.ndarray, weight: np.ndarray
    ) -> "ComponentSums":
        """Those of rows, by their shares under a model."""
        none = cls(covariance_type, reg_covar, np.zeros(len(model.means)), model.means, model.covariances)
        return none._gathered(none._em(X, weight), model)

    def plus(self, X: np.ndarray, weight: np.ndarray) -> "ComponentSums":
        """With these rows added."""
        return self._gathered(self._em(X, weight), self.components())

    def united(self, other: "ComponentSums") -> "ComponentSums":
        """With others added: each of their components is part of the one that explains its rows best."""
        now, present = self.components(), other.totals > 0
        steps = other.means[present, None] - now.means  # (j, k, d)
        if now.factors.shape[1] == 1:
            precisions, gaps = now.factors**2, ((steps * now.factors[:, 0]) ** 2).sum(axis=2)
        else:
            precisions = now.factors.swapaxes(1, 2) @ now.factors
            gaps = (np.einsum("kab,jkb->jka", now.factors, steps) ** 2).sum(axis=2)
        gaps += np.einsum("kab,jab->jk", precisions, other.covariances[present])
        labels = (now.heights - gaps / 2).argmax(axis=1)
        totals, steps = other.totals[present], steps[np.arange(len(labels)), labels]
        outer = steps[:, None] ** 2 if now.factors.shape[1] == 1 else steps[:, :, None] * steps[:, None]
        moments = [np.zeros_like(values) for values in (self.totals, self.means, self.covariances)]
        for moment, add in zip(moments, (1, steps, other.covariances[present] + outer), strict=True):
            np.add.at(moment, labels, (totals * np.transpose(add)).T)
        return replace(self._with(self._em(other.means, other.totals), moments), judged=0.0)

    def components(self) -> Gaussians:
        """The components with the highest likelihood."""
        return self._em(self.means, self.totals).regularized(self.totals, self.means, self.covariances)

    def _em(self, X: np.ndarray, weight: np.ndarray) -> EM:
        return EM(X, weight, self.covariance_type, self.reg_covar)

    def _gathered(self, em: EM, model: Gaussians) -> "ComponentSums":
        """With the rows of `em` added, by their shares under a model with the means of these."""
        return self._with(em, em.expect(model, nearest_means(em.X, model.means))[1])

    def _with(self, em: EM, moments: list[np.ndarray]) -> "ComponentSums":
        """With moments about the means added."""
        totals, sums, squares = moments
        totals = self.totals + totals
        shifts, found = em.centered(totals, sums, squares + self.totals[:, None, None] * self.covariances)
        return replace(
            self,
            totals=totals,
            means=self.means + shifts,
            covariances=np.where(totals[:, None, None] > 0, found, self.covariances),
        )
