"""SieveStreaming++: the promise of SieveStreaming with fewer sets (kazemi2019, Algorithm 1)."""

import math

import numpy as np

from modicum.select.guarantees import SieveGuarantee
from modicum.select.sieves import Sieve, SieveSelector


class SieveStreamingPlusPlus(SieveSelector):
    """Rows of a stream that maximise a submodular objective, by guesses that follow what was reached.

    For every threshold t = (1 + epsilon)^i from LB / (2 `budget`) to m a set is grown from the rows that gain at least
    t, m being the largest gain of a single row and LB the best value reached so far: as LB rises, low thresholds can't
    win any more and their sets are dropped.

    Guarantee: at least (1/2 - epsilon) of the best possible value, whatever the order of rows, for "logdet" and
    without merges; for "variance" under conditions, and only if all rows come in one chunk. See `guarantee`.
    Cost: O(b^2 + b d) time per row and set that is not full, O(b^2 + b d) memory per set, at most log(2 b) / epsilon
    sets and fewer as the best value rises.

    Parameters
    ----------
    budget : int or str, default=200
        Rows to choose, or a size such as "64 MiB" for all that is held.
    objective : {"logdet", "variance"} or such an objective, default="logdet"
        `LogDet(kernel, regularization)` or `VarianceReduction(kernel, noise)` with their parameters.
    epsilon : float, default=0.1
        Thresholds are a factor of 1 + epsilon apart.
    validation : int, default=500
        Rows that judge, for an objective that needs them.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_retained_, d), sparse matrix or list
        The best set so far: `budget` rows, or fewer if so few passed.
    indices_ : ndarray
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray or None
        Targets of the prototypes, if the stream has any.
    n_sieves_ : int
        Sets held now.
    history_ : dict of arrays
        Rows offered, value and rows chosen, over the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import SieveStreamingPlusPlus
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = SieveStreamingPlusPlus(10).fit(X)
    >>> model.transform(X).shape[1] <= 10
    True

    References
    ----------
    kazemi2019, Algorithm 1, Theorem 1. Departures: sets are dropped between blocks of rows, not after each row; the
    value is taken relative to the least that any row adds.
    """

    def _levels(self) -> np.ndarray:
        best = max((sieve.value for sieve in self._sieves), default=0.0)
        least = max(best, self._largest) / (2 * self._limit)
        low = math.ceil(round(math.log(least) / math.log1p(self.epsilon), 9)) - 1
        high = math.floor(round(math.log(self._largest) / math.log1p(self.epsilon), 9))
        return np.arange(low, high + 1)

    def _needed(self, sieve: Sieve) -> float:
        return sieve.level

    def guarantee(self, confidence: float = 0.95) -> SieveGuarantee:
        """Theorem 1 of kazemi2019 with today's numbers.

        A ValueError after a merge, and for the objective "variance" once its validation sample has changed on the way:
        the theorem is about one objective that has judged every row. `confidence` counts where a sample judges.
        """
        return self._guarantee(0.5 - self.epsilon, "kazemi2019", confidence)
