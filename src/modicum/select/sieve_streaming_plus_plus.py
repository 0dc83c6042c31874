"""SieveStreaming++: the guarantee of SieveStreaming with fewer sets (kazemi2019, Algorithm 1)."""

import math

import numpy as np

from modicum.select.guarantees import SieveGuarantee
from modicum.select.sieves import Sieve, SieveSelector


class SieveStreamingPlusPlus(SieveSelector):
    """Rows of a stream that maximise a submodular objective, with guesses that depend on the value reached so far.

    For every threshold t = (1 + epsilon)^i from LB / (2 `n_prototypes`) to m a set is grown from the rows that gain at
    least t. Here m is the largest gain of a single row and LB the best value reached so far. As LB rises, sets of low
    thresholds are no longer needed for the guarantee and are dropped, except for the best one.

    Guarantee: at least (1/2 - epsilon) of the best possible value, whatever the order of rows, for "logdet" and
    without merges; for "variance" under conditions, and only if all rows come in one chunk. See `guarantee`.
    Cost: O(b^2 + b d) time per row and set that is not full, O(b^2 + b d) memory per set, at most log(2 b) / epsilon
    sets and fewer as the best value rises.

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Rows to choose. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "64 MiB". All sets count.
    objective : {"logdet", "variance"} or such an objective, default="logdet"
        "logdet" or "variance"; or, with parameters, `LogDet(kernel, regularization)` or
        `VarianceReduction(kernel, noise)`.
    epsilon : float, default=0.1
        Thresholds are a factor of 1 + epsilon apart.
    n_validation : int or None, default=None
        Validation rows, for an objective that needs them. None: 500, or as many as the budget allows.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray, sparse matrix or list
        The best set so far: `n_prototypes` rows, or fewer.
    prototype_ids_ : ndarray
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray or None
        Targets of the prototypes, if the stream has any.
    n_sieves_ : int
        Sets held now.
    history_ : dict of arrays
        `n_seen`, `value` and rows chosen (`swaps`).

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
    best set is kept when its threshold is dropped, where the paper's may be lost; the value is taken relative to the
    least that any row adds.
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
        """Theorem 1 of kazemi2019 with the present numbers.

        A ValueError after a merge, and for the objective "variance" once its validation sample has changed between
        chunks: the theorem assumes one objective for all rows. `confidence` is that of the validation sample, where
        there is one.
        """
        return self._guarantee(0.5 - self.epsilon, "kazemi2019", confidence)
