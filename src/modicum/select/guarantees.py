"""Guarantees of selectors: bounds on what any set of rows could have reached, with numbers and conditions.

gomes2010, Theorem 4; schlegel2017, Theorem 1; badanidiyuru2014, kazemi2019, buschjager2021 for sieves;
mirzasoleiman2013 for shards. Values are those of the objective minus every row's least gain, so that they start from
zero and never fall.

For a monotone submodular F, a set A of k rows, any j in A with F(A) - F(A - j) = loss, and rows r that gain at most eta
by replacing j, every set B of k such rows has (inequality 8.1 of gomes2010)

    F(B) <= F(A) + sum over r in B of [F(A - j + r) - F(A - j)] <= F(A) + k (loss + eta)

The least of the k losses is at most F(A) / k: this is the theorems' half of the best possible.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.contract.guarantee import Guarantee
from modicum.kernels import Kernel
from modicum.kernels.function import FunctionKernel
from modicum.kernels.precomputed import Precomputed
from modicum.rows import BottomK


@dataclass(frozen=True, kw_only=True)
class SelectionGuarantee(Guarantee):
    """A value that no set of `n_chosen` rows of the stream exceeds, if the conditions hold.

    Attributes
    ----------
    value : float
        The value of the chosen rows, on the validation sample where there is one.
    n_chosen : int
        The most rows that a set may have.
    ceiling : float
        What no set can exceed, whatever was chosen: the trivial bound.
    epsilon, confidence : float
        Error of the values of all such sets on the validation sample, and the probability with which it holds.
    assumptions : tuple of str
        What the trivial bound and the theorem assume without a check.
    conditions : tuple of str
        All that the theorem assumes without a check, the assumptions included.
    """

    value: float
    n_chosen: int
    ceiling: float
    epsilon: float = 0.0
    confidence: float = 1.0
    assumptions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    def _by_theorem(self) -> float:
        """What no set exceeds on the validation sample, by the theorem."""
        raise NotImplementedError

    @property
    def optimum_at_most(self) -> float:
        """The most that any set of `n_chosen` rows can reach on the whole stream: by the theorem, or by the ceiling."""
        return min(self._by_theorem() + self.epsilon, self.ceiling)

    @property
    def says_something(self) -> bool:
        """Whether the theorem bounds the optimum better than the ceiling does."""
        return self._by_theorem() + self.epsilon < self.ceiling

    def __str__(self) -> str:
        conditions = self.conditions if self.says_something else self.assumptions
        bound = f"no {self.n_chosen} rows of the stream exceed {self.optimum_at_most:.4g}"
        where = ""
        if self.epsilon:
            where, certainty = " on the validation sample", f"with probability {self.confidence:.3g}"
            bound = f"it is within {self.epsilon:.3g} of that on all rows, and {bound}, {certainty}"
        claim = f"If {', and '.join(conditions)}, then {bound}" if conditions else bound[0].upper() + bound[1:]
        trivial = "" if self.says_something else " This is the trivial bound: the theorem's is vacuous here."
        return f"The value of the chosen rows is {self.value:.4g}{where}. {claim}.{trivial}"


@dataclass(frozen=True, kw_only=True)
class SwapGuarantee(SelectionGuarantee):
    """Theorem 4 of gomes2010, for sets that no swap improves by more than `eta`.

    `least_loss` is the loss of removing the least useful of the chosen rows.
    """

    least_loss: float
    eta: float

    def _by_theorem(self) -> float:
        return self.value + self.n_chosen * (self.least_loss + self.eta)


@dataclass(frozen=True, kw_only=True)
class OnlineGuarantee(SelectionGuarantee):
    """Theorem 1 of schlegel2017: the same for a stream in which rows similar to the best ones come repeatedly.

    A row that is refused gains at most required_gain + estimate_error by replacing the least useful prototype, and one
    of the best set at most coverage_error more. The paper uses the error of the estimates of all sets; here it is that
    of the swaps of the present set, which is all that the proof needs.
    """

    least_loss: float
    coverage_error: float
    estimate_error: float
    required_gain: float

    def _by_theorem(self) -> float:
        gain = self.coverage_error + self.estimate_error + self.required_gain
        return self.value + self.n_chosen * (self.least_loss + gain)


@dataclass(frozen=True, kw_only=True)
class SieveGuarantee(SelectionGuarantee):
    """The set has at least `ratio` of the best possible value; `paper` is that of the algorithm."""

    ratio: float
    paper: str

    def _by_theorem(self) -> float:
        return self.value / self.ratio if self.ratio else np.inf


@dataclass(frozen=True, kw_only=True)
class TwoRoundGuarantee(SelectionGuarantee):
    """For sets that were chosen among the rows that shards had chosen (mirzasoleiman2013).

    The best set O has parts O_i in the shards. F is subadditive, so F(O) is at most the sum of the F(O_i), which the
    theorems of the shards bound: `of_shards`. And with U, all rows that the shards chose, A_i those of one shard, and a
    row o of that shard which they refused, F gains at most loss_i + eta_i by o beyond U, which contains A_i without its
    least useful row. So F(O) is at most F(U) + k max_i(loss_i + eta_i): `of_union`, infinite where it is not computed.
    """

    n_shards: int
    of_shards: float
    of_union: float = np.inf

    def _by_theorem(self) -> float:
        return min(self.of_shards, self.of_union)


def kernel_conditions(kernel: Kernel) -> tuple[str, ...]:
    """Conditions on a kernel that was given as a function or a matrix."""
    return ("the kernel is positive semidefinite",) if _is_foreign(kernel) else ()


def _is_foreign(kernel: Any) -> bool:
    inner = [value for value in vars(kernel).values() if isinstance(value, Kernel)]
    return isinstance(kernel, FunctionKernel | Precomputed) or any(map(_is_foreign, inner))


def check_uniform(sample: BottomK, n_seen: int, name: str) -> None:
    """Raise a ValueError unless a validation sample is uniform, as Hoeffding's bound requires."""
    weights = sample.weights
    if not (np.ptp(weights) == 0 and np.isclose(sample.total_weight, weights[0] * n_seen)):
        raise ValueError(
            f"{name}: the bound is for uniform samples, and these rows have different weights. Give a validation "
            "sample that holds all rows, or no weights."
        )
    if len(np.unique(sample.keys)) < len(sample):
        raise ValueError(
            f"{name}: the bound is for uniform samples, and shards that were merged drew theirs with the same seed. "
            "Give each shard a random_state of its own."
        )
