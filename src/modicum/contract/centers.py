"""Answers of learners that have cluster centers."""

from typing import Any

import numpy as np

from modicum.contract.clusterer import Clusterer
from modicum.numeric.distances import square_distances
from modicum.numeric.nearest import nearest


class CentersMixin(Clusterer):
    """Predictions of a learner that has `cluster_centers_`."""

    cluster_centers_: Any

    def predict(self, X: Any) -> np.ndarray:
        """The nearest center of each row."""
        return self._nearest(X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """Distances of rows to centers."""
        X = self._check_input(X)
        return np.sqrt(square_distances(X, self.cluster_centers_)).astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean squared distance of rows to their centers."""
        return -float(np.average(self._nearest(X)[1], weights=sample_weight))

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return nearest(self._check_input(X), self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
