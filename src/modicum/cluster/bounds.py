"""Bounds on the utility of exemplars on the whole stream, from a validation sample (gomes2010, Corollary 1)."""

from dataclasses import dataclass

import numpy as np

from modicum.cluster.validation import ValidationSample
from modicum.numeric.hoeffding import hoeffding_error, log_of_doubt
from modicum.select.guarantees import check_uniform
from modicum.select.objectives.exemplar import ExemplarObjective


@dataclass(frozen=True)
class SampleBounds:
    """Errors of utilities on the validation sample of a stream of `n_seen` rows, and what they assume."""

    F: ExemplarObjective
    sample: ValidationSample
    n_seen: int

    @property
    def largest_utility(self) -> float:
        """The utility of a row is at most its dissimilarity to the phantom: the largest in the validation sample."""
        return float(self.F.to_phantom.max())

    def error_of_one_set(self, confidence: float, log_sets: float = 0.0) -> float:
        """The error of the utility of one set that does not depend on the sample; or of exp(log_sets) sets together."""
        n, log_term = len(self.sample), log_of_doubt(confidence) + log_sets
        return hoeffding_error(n, self.largest_utility, log_term, population=max(self.n_seen, n))

    def error_of_all_sets(self, confidence: float, owner: str) -> float:
        """The error of utilities, for all sets of up to k rows together; a ValueError if the sample is not uniform."""
        log_of_doubt(confidence)  # refuse an invalid one in any case
        if self.sample.is_everything:
            return 0.0
        check_uniform(self.sample, self.n_seen, owner)
        k = len(self.F.fixed)  # exemplars at most
        log_sets = k * np.log1p(self.n_seen + k)  # there are fewer than (n + k + 1)^k, with given exemplars among them
        judge_themselves = k * self.largest_utility / self.n_seen  # as rows do on the stream, not in the sample
        return self.error_of_one_set(confidence, log_sets) + judge_themselves

    def assumptions(self) -> tuple[str, ...]:
        """What the errors assume of rows outside the sample."""
        if self.sample.is_everything or isinstance(self.F.phantom, float):
            return ()
        return (f"no row is farther than {self.largest_utility:.4g} from the phantom",)

    def conditions(self, eta: float) -> tuple[str, ...]:
        """What a theorem about swaps that gain at most `eta` needs of rows outside the sample."""
        if self.sample.is_everything:
            return ()
        return (f"no row outside the validation sample gains more than {eta:.3g} by a swap",)
