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

        The bound is for centers chosen without looking at the points; those that were fitted to them do a little
        better on them than on all rows.
        """
        check_params(self, {"confidence": confidence}, {"confidence": [Number(0, 1, open_ends=True)]})
        parts = self._derive("summary", self._summary)
        centers = check_array(centers, dtype=np.float64, input_name="centers")
        if centers.shape[1] != self.n_features_in_:
            given = f"centers have {centers.shape[1]} columns, rows {self.n_features_in_}"
            raise DataError(f"{type(self).__name__}.cost: {given}.")
        gaps = [nearest(part.points, centers)[1] for part in parts]
        uncertain = [uncertain_gaps(part, centers, gap) for part, gap in zip(parts, gaps, strict=True)]
        lost = sum(part.lost for part in parts)
        return estimate_sum(parts, gaps, uncertain, confidence, lost)
