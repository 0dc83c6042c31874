"""Selectors of any objective: what is judged on other rows keeps a validation sample of the stream.

gomes2010, section 4 (limited access to the stream): variance reduction and prediction error are means over all
rows, and a uniform sample of them takes their place.
"""

from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.numeric.hoeffding import hoeffding_error
from modicum.rows import BottomK, n_rows, take
from modicum.rules.invariants import Is
from modicum.rules.params import NULL
from modicum.select.guarantees import check_uniform, kernel_conditions
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.named import as_objective
from modicum.select.objectives.validated import Validated
from modicum.select.selector import HISTORY_BYTES, WAITS, Selector


class JudgedSelector(Selector):
    """Base of selectors with an `objective`, and the size of a `validation` sample, among their parameters."""

    _invariants = {
        "_F": [WAITS, Is(LogDet, limit="_limit"), Is(Validated, limit="_limit", n_validation="n_validation")],
        "_sample": [WAITS, NULL, Is(BottomK, n="n_validation")],
    }

    _sample: BottomK | None

    def _objective(self) -> Any:
        return as_objective(self.objective)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        super()._check_chunk(X, y)
        if y is None and self._objective().needs_targets:
            raise DataError(f"{type(self).__name__}: the objective {self._objective()!r} needs targets: give y.")

    def _start(self, X: Any) -> None:
        super()._start(X)
        self._sample = BottomK(self.validation) if self._F.needs_validation else None

    def _empty(self, X: Any) -> Any:
        return self._objective().fitted(X).empty_set(X, self._limit, self.validation)

    def _offer(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if self._sample is not None:
            slots, chosen = self._sample.offer(n_rows(X), weight, row_ids, self._rng)
            self._put_judges(slots, take(X, chosen), None if y is None else y[chosen])
        self._stand_again(X, y, row_ids)

    def _put_judges(self, slots: np.ndarray, X: Any, y: np.ndarray | None) -> None:
        assert self._sample is not None
        for F in self._sets():
            F.put_rows(slots, X, self._sample.shares(), y)

    def _absorb(self, other: "JudgedSelector") -> None:
        if self._sample is not None and other._sample is not None:
            slots, chosen = self._sample.merge(other._sample)
            judges = other._sets()[0]
            targets = None if judges.row_targets is None else judges.row_targets[chosen]
            self._put_judges(slots, take(judges.rows.values, chosen), targets)
        super()._absorb(other)

    # ---- for guarantees --------------------------------------------------------------------------

    def _terms(self, F: Any, n_chosen: int, confidence: float, *conditions: str) -> dict[str, Any]:
        """What a `Guarantee` about sets of so many rows says of the objective."""
        epsilon, waits = self._sampling_error(confidence), self._waiting is not None
        value = F.value - F.n_chosen * F.least_gain
        assumptions = kernel_conditions(F.kernel)
        return {
            "value": value,
            "n_chosen": n_chosen,
            "ceiling": value if waits else self._ceiling(F, n_chosen, epsilon),  # as long as rows wait, all are chosen
            "epsilon": epsilon,
            "confidence": confidence,
            "assumptions": assumptions,
            "conditions": (*assumptions, *F.conditions, *conditions),
        }

    def _sampling_error(self, confidence: float) -> float:
        """Within this the validation sample tells the values of all sets of up to `budget` rows at once."""
        if self._waiting is not None or self._sample is None or self._sample.is_everything:
            return 0.0
        check_uniform(self._sample, self.n_seen_, type(self).__name__)
        log_sets = self._limit * np.log1p(self.n_seen_)  # there are fewer than (n + 1)^b such sets
        log_term, n = np.log(2 / (1 - confidence)) + log_sets, len(self._sample)
        return hoeffding_error(n, self._largest_own, log_term, population=max(self.n_seen_, n))

    def _ceiling(self, F: Any, n_chosen: int, epsilon: float) -> float:
        """What no set of so many rows can exceed on the whole stream."""
        if not F.needs_validation:
            return F.ceiling(n_chosen, self._largest_own)
        return min(float(F.shares @ F.kernel.diagonal(F.rows.values)) + epsilon, self._largest_own)

    def _n_retained(self) -> int:
        return super()._n_retained() + (len(self._sample) if self._waiting is None and self._sample is not None else 0)

    def _bytes_for(self, n_chosen: int, row_bytes: int) -> int:
        objective = self._objective()
        n_validation = self.validation if objective.needs_validation else 0
        judges = n_validation * 32  # key, weight, id and share
        return objective.set_bytes(n_chosen, n_validation, row_bytes) + judges + 16 * n_chosen + HISTORY_BYTES + 4096
