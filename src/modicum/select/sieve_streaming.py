"""SieveStreaming: half the best possible value in one pass (badanidiyuru2014, Algorithms 1 to 3)."""

import math

import numpy as np

from modicum.select.guarantees import SieveGuarantee
from modicum.select.sieves import SieveSelector


class SieveStreaming(SieveSelector):
    """Rows of a stream that maximise a submodular objective, by many guesses of the best value at once.

    The best value lies between the largest gain m of a single row and `budget` times it. For every level v = (1 +
    epsilon)^i from m to 2 `budget` m a set is grown: a row joins if it gains at least (v / 2 - f) / (places left), f
    being what the set has. The best set is the answer. Rows are never swapped out.

    Guarantee: at least (1/2 - epsilon) of the best possible value, whatever the order of rows, for "logdet" and
    without merges; for "variance" under conditions, and only if all rows come in one chunk. See `guarantee`.
    Cost: O(b^2 + b d) time per row and set that is not full, O(b^2 + b d) memory per set, log(2 b) / epsilon sets.

    Which to take: `OnlineGreedy` reaches higher values in less time and memory on streams without an enemy; this one
    promises its half for any order of the rows, after one pass.

    Parameters
    ----------
    budget : int or str, default=200
        Rows to choose, or a size such as "64 MiB" for all that is held.
    objective : {"logdet", "variance"} or such an objective, default="logdet"
        `LogDet(kernel, regularization)` or `VarianceReduction(kernel, noise)` with their parameters.
    epsilon : float, default=0.1
        Levels are a factor of 1 + epsilon apart.
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
    >>> from modicum import SieveStreaming
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = SieveStreaming(10).fit(X)
    >>> model.transform(X).shape[1] <= 10, model.n_sieves_ > 10
    (True, True)

    References
    ----------
    badanidiyuru2014, Algorithms 1 to 3, Theorem 5.3. Departure: the value is taken relative to the least that any row
    adds, so that a log-determinant is monotone for any regularization.
    """

    def _levels(self) -> np.ndarray:
        low = math.ceil(round(math.log(self._largest) / math.log1p(self.epsilon), 9))
        high = math.floor(round(math.log(2 * self._limit * self._largest) / math.log1p(self.epsilon), 9))
        return np.arange(low, high + 1)

    def guarantee(self, confidence: float = 0.95) -> SieveGuarantee:
        """Theorem 5.3 of badanidiyuru2014 with today's numbers.

        A ValueError after a merge, and for the objective "variance" once its validation sample has changed on the way:
        the theorem is about one objective that has judged every row. `confidence` counts where a sample judges.
        """
        return self._guarantee(0.5 - self.epsilon, "badanidiyuru2014", confidence)
