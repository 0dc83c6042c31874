"""A solution compared with the best of several runs on the same held-out rows, with a bootstrap interval."""

from typing import Any, NamedTuple

import numpy as np

from modicum.contract.centers import CentersMixin
from modicum.rows import n_rows
from modicum.tradeoff.truncation import Labeled

LEVEL = 0.95  # of the interval
RESAMPLES = 2000  # enough for two digits of its ends
MOST_GROUPS = 500  # of rows, resampled as one: as good as single rows, and faster


class Comparison(NamedTuple):
    """How a risk compares with that of the best of `n_runs` runs, on the same `n_validation` held-out rows.

    `ratio` is 1 plus the excess relative to the absolute value of the best risk. `low` and `high` are the ends of its
    95% interval for new rows from the same source; None if the risk is not a mean over rows.
    """

    ratio: float
    low: float | None
    high: float | None
    n_runs: int
    n_validation: int

    def __str__(self) -> str:
        """The comparison in words.

        >>> print(Comparison(1.047, 1.02, 1.0751, 20, 1600))
        1.047 times the best of 20 runs here on 1,600 held-out rows (95%: 1.02 to 1.075)
        """
        runs = "one run" if self.n_runs == 1 else f"the best of {self.n_runs} runs"
        interval = "" if self.low is None or self.high is None else f" (95%: {self.low:.4g} to {self.high:.4g})"
        return f"{self.ratio:.4g} times {runs} here on {self.n_validation:,} held-out rows{interval}"


def compare(solution: Any, reference: Any, n_runs: int, held_out: Labeled, rng: np.random.Generator) -> Comparison:
    """The risk of a solution relative to that of a reference."""
    risk, best = (row_risks(learner, held_out.X) for learner in (solution, reference))
    count = n_rows(held_out.X)
    if risk is None or best is None:
        ratio = _ratio(*(np.array(-held_out.score(learner)) for learner in (solution, reference)))
        return Comparison(float(ratio), None, None, n_runs, count)
    weight = np.ones(count) if held_out.sample_weight is None else np.asarray(held_out.sample_weight, np.float64)
    ratio = _ratio(np.average(risk, weights=weight), np.average(best, weights=weight))
    low, high = _interval(risk, best, weight, rng)
    return Comparison(float(ratio), low, high, n_runs, count)


def row_risks(learner: Any, X: Any) -> np.ndarray | None:
    """The risk of each row, if that of the learner is their mean."""
    if isinstance(learner, CentersMixin):
        return np.asarray(learner._nearest(X)[1], np.float64)
    return -np.asarray(learner.score_samples(X), np.float64) if hasattr(learner, "score_samples") else None


def _interval(risk: np.ndarray, best: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The bootstrap interval of the ratio: both risks are of the same rows, in random proportions.

    The proportions are those of the Bayesian bootstrap, which is as good as drawing with replacement and faster.
    """
    groups = np.arange(len(risk)) % min(len(risk), MOST_GROUPS)
    sums = np.array([np.bincount(groups, weight * values) for values in (risk, best, np.ones(len(risk)))])
    drawn = rng.standard_exponential((RESAMPLES, sums.shape[1])) @ sums.T  # (resamples, 3)
    ratios = _ratio(drawn[:, 0] / drawn[:, 2], drawn[:, 1] / drawn[:, 2])
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _ratio(risk: np.ndarray, best: np.ndarray) -> np.ndarray:
    """1 plus the excess relative to the best risk; 1 if both are zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = (risk - best) / np.abs(best)
    return 1 + np.where(risk == best, 0.0, excess)
