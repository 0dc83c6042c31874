"""SieveStreaming: half the best possible value in one pass (badanidiyuru2014, Algorithms 1 to 3)."""

import math

import numpy as np

from modicum.select.guarantees import SieveGuarantee
from modicum.select.sieves import SieveSelector


class SieveStreaming(SieveSelector):
    """Rows of a stream that maximise a submodular objective, with many guesses of the best value in parallel.

    The best value lies between the largest gain m of a single row and b = `n_prototypes` times it. For every level
    v = (1 + epsilon)^i from m to 2 b m a set is grown: a row joins if it gains at least (v / 2 - f) / (b - size), where
    f is the set's value. The best set is the answer. Rows are never swapped out.

    Guarantee: at least (1/2 - epsilon) of the best possible value, whatever the order of rows, for "logdet" and
    without merges; for "variance" under conditions, and only if all rows come in one chunk. See `guarantee`.
    Cost: O(b^2 + b d) time per row and set that is not full, O(b^2 + b d) memory per set, log(2 b) / epsilon sets.

    Which to use: `OnlineGreedy` reaches higher values in less time and memory on non-adversarial streams; this one has
    its guarantee for any order of the rows, after one pass.

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
        Levels are a factor of 1 + epsilon apart.
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
    >>> from modicum import SieveStreaming
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = SieveStreaming(10).fit(X)
    >>> model.transform(X).shape[1] <= 10, model.n_sieves_ > 10
    (True, True)

    References
    ----------
    badanidiyuru2014, Algorithms 1 to 3, Theorem 5.3. Departures: the value is taken relative to the least that any row
    adds, so that a log-determinant is monotone for any regularization; the best set is kept when its level is dropped.
    """

    def _levels(self) -> np.ndarray:
        low = math.ceil(round(math.log(self._largest) / math.log1p(self.epsilon), 9))
        high = math.floor(round(math.log(2 * self._limit * self._largest) / math.log1p(self.epsilon), 9))
        return np.arange(low, high + 1)

    def guarantee(self, confidence: float = 0.95) -> SieveGuarantee:
        """Theorem 5.3 of badanidiyuru2014 with the present numbers.

        A ValueError after a merge, and for the objective "variance" once its validation sample has changed between
        chunks: the theorem assumes one objective for all rows. `confidence` is that of the validation sample, where
        there is one.
        """
        return self._guarantee(0.5 - self.epsilon, "badanidiyuru2014", confidence)
