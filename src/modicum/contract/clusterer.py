"""What learners that cluster share: labels of the rows given to `fit`, while the caller keeps those rows."""

import weakref
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from modicum.contract.learner import Learner


class Clusterer(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, Learner):
    """Base of learners that cluster. A subclass writes `predict` and `transform`."""

    _source: weakref.ref[Any] | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget, then learn from X; `labels_` are available as long as the caller keeps X."""
        super().fit(X, y, sample_weight)
        try:
            self._source = weakref.ref(X)
        except TypeError:  # lists can't be weakly referenced
            self._source = None
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    @property
    def labels_(self) -> np.ndarray:
        """Labels of the rows given to `fit`, computed now, if those rows still exist."""
        source = getattr(self, "_source", None)
        X = None if source is None else source()
        if X is None:
            raise AttributeError(
                "the rows given to fit no longer exist (they are not kept). Use predict(X) for labels."
            )
        return self.predict(X)
