"""What crowd learners share: labels of pairs in, kept and united."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from modicum.contract import Learner, Traits
from modicum.crowd.answers import Answers
from modicum.crowd.labels import PairLabels
from modicum.crowd.names import places
from modicum.crowd.pairs import Pairs, as_pairs
from modicum.crowd.progress import FITTED, part
from modicum.crowd.reading import as_answers
from modicum.exceptions import DataError
from modicum.rules.invariants import Is


class CrowdLearner(Learner):
    """Base of learners of labels of pairs. Rows are (item, item, worker), targets +1 or -1.

    All labels are kept: `partial_fit` and `merge` fit the model to old and new ones together.
    """

    traits: ClassVar[Traits] = Traits(merge="approximate", weights=True)
    _invariants = {"_labels": Is(PairLabels)}
    _labels: PairLabels

    def fit_groupings(self, answers: Any) -> Self:
        """Forget, then learn whole groupings: anything that `modicum.crowd.as_answers` takes."""
        return self.fit(as_answers(answers).pairs())

    def partial_fit_groupings(self, answers: Any) -> Self:
        """Learn more groupings, starting from what is known."""
        return self.partial_fit(as_answers(answers).pairs())

    @property
    def items_(self) -> np.ndarray:
        """Names of the items, in the order of all arrays by item."""
        return self._labels.items

    @property
    def workers_(self) -> np.ndarray:
        """Names of the workers, in the order of all arrays by worker."""
        return self._labels.workers

    def predict_pair(self, worker: Any, a: Any, b: Any) -> Any:
        """The probability that a worker puts items a and b in one group.

        Each is a name, or a list of names as long as the others. Worker None is a typical one: the average of all.
        """
        self._check_fitted()
        named = [(self._labels.items, a, "item"), (self._labels.items, b, "item")]
        if worker is not None:
            named.append((self._labels.workers, worker, "worker"))
        found = [places(names, np.atleast_1d(wanted).tolist(), what) for names, wanted, what in named]
        sizes = {len(place) for place in found} - {1}
        if len(sizes) > 1:
            raise DataError(
                f"{type(self).__name__}.predict_pair: there are {' and '.join(map(str, sorted(sizes)))} names. "
                "Give single names, or lists of the same length."
            )
        first, second, *workers = (np.broadcast_to(place, max(sizes, default=1)) for place in found)
        together = self._pair_probability(first, second, workers[0] if workers else None)
        return together if any(np.ndim(wanted) for _, wanted, _ in named) else float(together[0])

    @abstractmethod
    def _pair_probability(self, first: np.ndarray, second: np.ndarray, worker: np.ndarray | None) -> np.ndarray:
        """The probability that items are put in one group: places of items, and of workers if they matter."""

    @abstractmethod
    def _solve(self, *, anew: bool) -> None:
        """Fit the model to `_labels`; unless `anew`, start from the present one, which may lack items and workers."""

    def _take_chunk(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        if isinstance(X, Answers):
            X = X.pairs()
        pairs = X if isinstance(X, Pairs) else as_pairs(type(self).__name__, X, y, sample_weight, row_ids)
        if not len(pairs):
            return
        self.n_features_in_, self._kind, self._dtype = 3, "dense", "float64"
        self._learn_or_undo(pairs, None, None, pairs.answer)
        self._position += len(pairs)

    def _learn(self, X: Pairs, y: Any, weight: Any, row_ids: np.ndarray) -> None:
        anew = not hasattr(self, "_labels")
        self._labels = PairLabels(X) if anew else self._labels.with_more(X)
        self._solve_watched(anew=anew)

    def _solve_watched(self, *, anew: bool) -> None:
        with part(0, FITTED, of=1):
            self._solve(anew=anew)

    def _may_fail_midway(self) -> bool:
        return True

    def _merge(self, other: Self) -> None:
        self._labels = self._labels.with_more(other._labels)
        self._solve_watched(anew=True)

    def _n_retained(self) -> int:
        return len(self._labels)
