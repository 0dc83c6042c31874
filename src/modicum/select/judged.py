"""Selectors of any objective: means over all rows are estimated on a validation sample of the stream.

gomes2010, section 4 (limited access to the stream): variance reduction and prediction error are means over all
rows, which a uniform sample of them estimates.
"""

from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.numeric.hoeffding import hoeffding_error, log_of_doubt
from modicum.rows import BottomK, n_rows, take
from modicum.rules.budget import Plan
from modicum.rules.invariants import MOST, Is, Scope, Whole
from modicum.rules.params import NULL, RANDOM_STATE, Int
from modicum.select.guarantees import check_uniform, kernel_conditions
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.named import OBJECTIVE, as_objective
from modicum.select.objectives.validated import Validated
from modicum.select.selector import BUFFERING, FIXED_BYTES, SET_SCALARS, Selector


def _given(its: Scope) -> int | None:
    """The `n_validation` that was asked for, if the objective needs validation rows."""
    return its["n_validation"] if its.owner._given_objective().needs_validation else 0


class JudgedSelector(Selector):
    """Base of selectors with an `objective` and `n_validation` among their parameters."""

    _constraints = {
        **Selector._constraints,
        "objective": [OBJECTIVE],
        "n_validation": [NULL, Int(1)],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_n_validation": Whole(lambda its: _given(its) or 0, lambda its: MOST if _given(its) is None else _given(its)),
        "_objective": [BUFFERING, Is(LogDet, limit="_limit"), Is(Validated, limit="_limit", n_validation="n_sample")],
        "_sample": [BUFFERING, NULL, Is(BottomK, n="n_sample", at_most={"size": "_n_validation"})],
    }

    _useful_validation: int  # more validation rows take more time than they are worth
    _n_empty_sets = 0  # held beside those with rows

    _n_validation: int  # validation rows at most
    _sample: BottomK | None

    def _given_objective(self) -> Any:
        return as_objective(self.objective)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        super()._check_chunk(X, y)
        name, objective = type(self).__name__, self._given_objective()
        if not objective.needs_targets:
            return
        if y is None:
            raise DataError(f"{name}: the objective {objective!r} needs targets: give y.")
        if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
            raise DataError(f"{name}: the objective {objective!r} needs targets that are finite numbers.")

    def _initialize(self, X: Any) -> None:
        super()._initialize(X)
        self._sample = BottomK(self._n_validation) if self._objective.needs_validation else None

    def _empty(self, X: Any) -> Any:
        return self._given_objective().fitted(X).empty_set(X, self._limit, self._n_validation)

    def _learn_rows(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        if self._sample is not None:
            slots, chosen = self._sample.offer(n_rows(X), weight, row_ids, self._rng)
            self._put_validation(slots, take(X, chosen), None if y is None else y[chosen])
        super()._learn_rows(X, y, weight, row_ids, n_seen)

    def _smaller_set(self, rows: Any) -> Any:
        old, empty = self._objective, self._objective.fitted(rows).empty_set(rows, self._limit, self._n_validation)
        if self._sample is not None:
            stay = self._sample.shrink_to(self._n_validation)
            targets = None if old.row_targets is None else old.row_targets[stay]
            empty.put_rows(np.arange(len(stay)), take(old.rows.values, stay), self._sample.shares(), targets)
        return empty

    def _put_validation(self, slots: np.ndarray, X: Any, y: np.ndarray | None) -> None:
        assert self._sample is not None
        for F in self._sets():
            F.put_rows(slots, X, self._sample.shares(), y)

    def _merge_sets(self, other: "JudgedSelector") -> None:
        if self._sample is not None and other._sample is not None:
            self._merge_samples(self._sample, other._sample, other._sets()[0])
        super()._merge_sets(other)

    def _merge_samples(self, sample: BottomK, other: BottomK, theirs: Any) -> None:
        """Merge validation samples; `theirs` is the other side's set."""
        if other.size < sample.size:  # rows of the two sides may differ in size, and so their number within a budget
            self._n_validation = other.size
            stay = sample.shrink_to(other.size)
            for F in self._sets():
                F.keep_rows(stay, sample.shares())
        slots, chosen = sample.merge(other)
        targets = None if theirs.row_targets is None else theirs.row_targets[chosen]
        self._put_validation(slots, take(theirs.rows.values, chosen), targets)

    # ---- budget ----------------------------------------------------------------------------------

    def _set_sizes(self, row_bytes: int) -> None:
        self._limit, self._n_validation = self._sizes(row_bytes)

    def _validation_wanted(self) -> tuple[int | None, int]:
        if not self._given_objective().needs_validation:
            return 0, 0
        return self.n_validation, self._useful_validation

    def _most_sets(self, n_chosen: int) -> int:
        """Sets with rows in them, at most."""
        return 1

    def _plan(self, n_chosen: int, n_validation: int, row_bytes: int) -> Plan:
        n_sets = self._most_sets(n_chosen)
        each = self._given_objective().set_bytes(n_chosen, n_validation, row_bytes)
        each += 16 * n_chosen + 8 * n_validation  # ids and targets, and a share per validation row
        each += self._kernel_bytes(row_bytes) + SET_SCALARS
        return Plan.of(
            n_sets * n_chosen + n_validation,  # no two sets may have a row in common
            sets=(n_sets + self._n_empty_sets) * each,
            validation_keys=24 * n_validation,  # key, weight and id
            history_and_scalars=FIXED_BYTES,
        )

    def _n_retained(self) -> int:
        return super()._n_retained() + (len(self._sample) if self._buffered is None and self._sample is not None else 0)

    # ---- for guarantees --------------------------------------------------------------------------

    def _terms(self, F: Any, n_chosen: int, confidence: float, *conditions: str) -> dict[str, Any]:
        """Terms of a guarantee about sets of `n_chosen` rows that depend on the objective."""
        epsilon, is_all = self._sampling_error(confidence), self._buffered is not None
        value = F.value - F.n_chosen * F.least_gain
        assumptions = kernel_conditions(F.kernel)
        return {
            "value": value,
            "n_chosen": n_chosen,
            "ceiling": value if is_all else self._ceiling(F, n_chosen, epsilon),  # buffered rows are all chosen
            "epsilon": epsilon,
            "confidence": confidence if epsilon else 1.0,
            "assumptions": assumptions,
            "conditions": (*assumptions, *F.conditions, *conditions),
        }

    def _sampling_error(self, confidence: float) -> float:
        """The error of the validation sample on the values of all sets of up to `n_prototypes` rows together."""
        doubt = log_of_doubt(confidence)
        if self._buffered is not None or self._sample is None or self._sample.is_everything:
            return 0.0
        check_uniform(self._sample, self.n_seen_, type(self).__name__)
        log_sets = self._limit * np.log1p(self.n_seen_)  # there are fewer than (n + 1)^b such sets
        log_term, n = doubt + log_sets, len(self._sample)
        return hoeffding_error(n, self._largest_own, log_term, population=max(self.n_seen_, n))

    def _ceiling(self, F: Any, n_chosen: int, epsilon: float) -> float:
        """A value that no set of `n_chosen` rows can exceed on the whole stream."""
        if not F.needs_validation:
            return F.ceiling(n_chosen, self._largest_own)
        return min(float(F.shares @ F.kernel.diagonal(F.rows.values)) + epsilon, self._largest_own)
