"""The cost of centers, estimated from a coreset for k-means (feldman2011)."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from modicum.coreset.coreset import CoresetLearner
from modicum.coreset.estimate import CostEstimate, estimate_sum, uncertain_gaps
from modicum.exceptions import DataError
from modicum.numeric.nearest import nearest
from modicum.rules.params import Number, check_params


class KMeansCost(CoresetLearner):
    """Base of learners whose coreset is made for squared distances."""

    def cost(self, centers: Any, *, confidence: float = 0.9) -> CostEstimate:
        """The sum of squared distances of all rows to the nearest of `centers`, estimated from the points.

        The error bound is for centers chosen independently of the points. Centers fitted to the points have a slightly
        lower cost on them than on all rows.
        """
        check_params(self, {"confidence": confidence}, {"confidence": [Number(0, 1, open_ends=True)]})
        buckets = self._derive("summary", self._summary)
        centers = check_array(centers, dtype=np.float64, input_name="centers")
        if centers.shape[1] != self.n_features_in_:
            given = f"centers have {centers.shape[1]} columns, rows {self.n_features_in_}"
            raise DataError(f"{type(self).__name__}.cost: {given}.")
        gaps = [nearest(bucket.points, centers)[1] for bucket in buckets]
        uncertain = [uncertain_gaps(bucket, centers, gap) for bucket, gap in zip(buckets, gaps, strict=True)]
        lost = sum(bucket.lost_scatter for bucket in buckets)
        return estimate_sum(buckets, gaps, uncertain, confidence, lost)
