"""What the sieve algorithms share: sets that only grow, each accepting the rows that gain enough for its level.

badanidiyuru2014, kazemi2019, buschjager2021. Values here are those of the objective minus every row's least gain, so
that they start from zero and never fall.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from modicum.rows import n_rows, put_values, take
from modicum.rules.invariants import Array, Each, Is, Real
from modicum.rules.params import NULL, TRUTH, Number
from modicum.select.guarantees import SieveGuarantee
from modicum.select.judged import JudgedSelector
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.validated import Validated
from modicum.select.selector import BUFFERING
from modicum.state.part import Part

CANDIDATES_PER_BLOCK = 512  # scored together by each set


class Sieve(Part):
    """A growing set, its level, and the ids and targets of its rows."""

    _invariants = {
        "F": [Is(LogDet, n="n", limit="limit"), Is(Validated, n="n", limit="limit", n_validation="n_validation")],
        "level": Real(0.0),
        "ids": Array("int64", "n"),
        "targets": [NULL, Array(None, "n", finite=False)],
    }

    def __init__(self, F: Any, level: float, targets: np.ndarray | None):
        self.F = F
        self.level = level
        self.ids = np.empty(0, np.int64)
        self.targets = None if targets is None else targets[:0]

    @property
    def value(self) -> float:
        return self.F.value - self.F.n_chosen * self.F.least_gain

    @property
    def is_full(self) -> bool:
        return self.F.n_chosen == self.F.limit

    @property
    def needed(self) -> float:
        """What a row must gain for the set to reach half its level once it is full (badanidiyuru2014, Algorithm 1)."""
        return (self.level / 2 - self.value) / max(1, self.F.limit - self.F.n_chosen)

    def sift(self, block: Any, y: np.ndarray | None, row_ids: np.ndarray, needed: Callable[["Sieve"], float]) -> None:
        """Offer the candidates of a block in their order; those that gain what is needed join."""
        start = 0
        while not self.is_full:
            enough = np.flatnonzero(block.gains()[start:] - self.F.least_gain >= needed(self))
            if not len(enough):
                break
            self.join(block, start + int(enough[0]), y, row_ids)
            start += int(enough[0]) + 1

    def join(self, block: Any, i: int, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Candidate i of a block joins."""
        slot = np.array([block.add(i, start=i)])
        self.ids = put_values(self.ids, slot, row_ids[i : i + 1])
        if self.targets is not None and y is not None:
            self.targets = put_values(self.targets, slot, y[i : i + 1])


class SieveSelector(JudgedSelector):
    """Base of the sieve algorithms. A subclass writes `_levels` and `_needed`, or `_sift`."""

    _constraints = {
        **JudgedSelector._constraints,
        "epsilon": [Number(0.0, 0.5, open_ends=True)],
    }
    _useful_validation = 500

    _invariants = {
        "_largest": [BUFFERING, Real(0.0)],
        "_is_one_pass": [BUFFERING, TRUTH],
        "_sieves": [BUFFERING, Each(Is(Sieve, limit="_limit", n_validation="n_sample"))],
    }

    _sieves: list[Sieve]
    _is_one_pass: bool  # whether every row was offered to the sieves under one objective

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        objective: Any = "logdet",
        epsilon: float = 0.1,
        n_validation: int | None = None,
        random_state: Any = None,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.objective = objective
        self.epsilon = epsilon
        self.n_validation = n_validation
        self.random_state = random_state

    def _levels(self) -> np.ndarray:
        """Exponents i of the levels (1 + epsilon)^i that have a set now."""
        raise NotImplementedError

    def _needed(self, sieve: Sieve) -> float:
        """What a row must gain to join."""
        return sieve.needed

    def _check_params(self) -> None:
        super()._check_params()
        if not self._objective().monotone_submodular:
            raise ValueError(
                f"{type(self).__name__}: sieves need an objective that is monotone and submodular, which "
                f"{self._objective()!r} is not. Take StreamGreedy, or another objective."
            )

    def _initialize(self, X: Any) -> None:
        super()._initialize(X)  # the set `_F` stays empty: new sieves are copies of it
        self._largest = 0.0  # the largest gain of a single row so far
        self._sieves = []
        self._is_one_pass = True

    def _sets(self) -> list[Any]:
        return [self._F, *(sieve.F for sieve in self._sieves)]

    def _chosen(self) -> tuple[Any, np.ndarray, np.ndarray | None]:
        best = self._best()
        return best.F, best.ids, best.targets

    def _offer(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        for start in range(0, n_rows(X), CANDIDATES_PER_BLOCK):
            block = slice(start, start + CANDIDATES_PER_BLOCK)
            rows, targets, ids = take(X, block), None if y is None else y[block], row_ids[block]
            alone = self._F.look(rows, targets).gains() - self._F.least_gain
            self._largest = max(self._largest, float(alone.max()))
            if self._largest > 0.0:
                self._sift(rows, targets, ids)
            best = self._best()
            self.n_swaps_ = best.F.n_chosen
            self._history.record(n_seen - max(0, n_rows(X) - block.stop), best.F.value, self.n_swaps_)

    def _sift(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        levels = (1 + self.epsilon) ** self._levels().astype(float)
        present = {sieve.level: sieve for sieve in self._sieves}
        best = [self._best()] if self._sieves else []
        self._sieves = [present.get(level) or self._new_sieve(level, y) for level in levels]
        self._sieves += [sieve for sieve in best if sieve.level not in levels]  # so that the value never falls
        growing = [sieve for sieve in self._sieves if not sieve.is_full]
        shared = self._F.share(X) if growing else None
        for sieve in growing:
            sieve.sift(sieve.F.look(X, y, shared), y, row_ids, self._needed)

    def _put_validation(self, slots: np.ndarray, X: Any, y: np.ndarray | None) -> None:
        super()._put_validation(slots, X, y)
        if len(slots) and self._history.calls:  # earlier rows were offered under another sample
            self._is_one_pass = False

    def _merge(self, other: Any) -> None:
        super()._merge(other)
        self._is_one_pass = False  # of the other's rows, only the chosen ones are offered

    def _new_sieve(self, level: float, y: np.ndarray | None) -> Sieve:
        return Sieve(copy.deepcopy(self._F), float(level), y)

    def _merge_sets(self, other: Any) -> None:
        super()._merge_sets(other)
        self.n_swaps_ = self._best().F.n_chosen

    def _n_targets(self) -> int:
        return 0  # sieves have their own

    def _best(self) -> Sieve:
        nothing = Sieve(self._F, 0.0, self._targets)
        return max(self._sieves, key=lambda sieve: sieve.value, default=nothing)

    def _most_sieves(self, n_chosen: int) -> int:
        """Levels from the largest single gain m to 2 b m, rounded outwards, and the best set of a lower level."""
        return int(np.log(2 * max(1, n_chosen)) / np.log1p(self.epsilon)) + 3

    def _most_sets(self, n_chosen: int) -> int:
        return self._most_sieves(n_chosen) + 1  # the empty one

    def _planned_rows(self, n_chosen: int, n_validation: int) -> int:
        return self._most_sieves(n_chosen) * n_chosen + n_validation  # no two sets may have a row in common

    def _n_prototypes(self) -> int:
        """Rows in any of the sets; one that is in several, as told by its id, counts once."""
        return len(np.unique(np.concatenate([np.empty(0, np.int64), *(sieve.ids for sieve in self._sieves)])))

    def _guarantee(self, ratio: float, paper: str, confidence: float, *conditions: str) -> SieveGuarantee:
        """The guarantee of a theorem that a set has `ratio` of the best possible value."""
        F = self._set()
        if self._buffered is None and not self._is_one_pass:
            raise ValueError(self._why_no_theorem())
        return SieveGuarantee(**self._terms(F, self._limit, confidence, *conditions), ratio=ratio, paper=paper)

    def _why_no_theorem(self) -> str:
        name = type(self).__name__
        if self._sample is None:
            return (
                f"{name}: the theorem needs every row to be offered to the sieves; of a merged shard only the chosen "
                "rows are. Ask each shard before the merge, or learn all rows in one learner."
            )
        return (
            f"{name}: the theorem needs one objective for the whole stream, and the validation sample of "
            f"{self._objective()!r} changed after rows had been offered. Give all rows in one chunk, take "
            'objective="logdet", which needs no sample, or StreamGreedy.'
        )

    @property
    def n_sieves_(self) -> int:
        """Sets held now."""
        self._check_fitted()
        return len(self._sieves) if self._buffered is None else 0
