"""Costs estimated from weighted points, and how far off they may be.

Points were drawn cell by cell, so the variance of a sum over them is estimated within cells (cochran1977, chapter 5).
Weight, mean and scatter of a calibrated cell are exact: only what they do not explain can be wrong.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from modicum.coreset.bucket import Bucket
from modicum.numeric.nearest import nearest


class CostEstimate(NamedTuple):
    """With the confidence asked for, the cost of all rows is within `error_bound` of `value`."""

    value: float
    error_bound: float


def estimate_sum(
    buckets: list[Bucket], values: list[np.ndarray], uncertain: list[np.ndarray], confidence: float, lost: float = 0.0
) -> CostEstimate:
    """The sum over all rows of a function that has these `values` at the points.

    `uncertain` are the values, or what remains of them when that is taken away of which the sum is known exactly.
    `lost` is a part of the sum that the points do not show, and as uncertain as it is large.
    """
    total = lost + sum(float(bucket.weights @ value) for bucket, value in zip(buckets, values, strict=True))
    deviation = float(np.sqrt(sum(map(_variance, buckets, uncertain)) + lost**2))
    rounding = float(np.finfo(buckets[0].points.dtype).eps) * abs(total)
    return CostEstimate(total, NormalDist().inv_cdf((1 + confidence) / 2) * deviation + rounding)


def uncertain_gaps(bucket: Bucket, centers: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """The part of the points' squared distances to their nearest centers that calibration does not make certain.

    Were all of a cell nearest to one center, its cost would be exact: what counts is how much nearer others are.
    """
    if not bucket.calibrated:
        return gaps
    sizes = np.diff(bucket.starts, append=len(bucket))
    weights = np.add.reduceat(bucket.weights, bucket.starts)
    means = np.add.reduceat(bucket.weights[:, None] * bucket.points, bucket.starts) / weights[:, None]
    steps = bucket.points - np.repeat(centers[nearest(means, centers)[0]], sizes, axis=0)
    return gaps - np.einsum("ij,ij->i", steps, steps)


def _variance(bucket: Bucket, values: np.ndarray) -> float:
    """Of the sum of weighted values; a cell with a single point is taken to be as uncertain as its value is large."""
    if bucket.spread == 0:
        return 0.0
    sizes = np.diff(bucket.starts, append=len(bucket))
    weighted = bucket.weights * values
    sums = np.add.reduceat(weighted, bucket.starts)
    squares = np.add.reduceat(weighted**2, bucket.starts)
    several = sizes > 1
    within = (squares - sums**2 / sizes)[several] * (sizes / np.maximum(sizes - 1, 1))[several]
    return bucket.spread * float(np.maximum(within, 0).sum() + squares[~several].sum())
