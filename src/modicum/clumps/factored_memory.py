"""Memory of a stream (gomes2008) whose clumps take half the bytes: means, and factors of single precision."""

from typing import ClassVar, Self

import numpy as np

from modicum._jit.factors import factor, unfactor
from modicum.clumps.memory import Memory
from modicum.rules.invariants import ABSENT, Array, Scope


def _factor_size(its: Scope) -> int:
    """Numbers in a factor; -1, which no array has, if statistics are not those of full Gaussians."""
    d = its["n_features"]
    return d * (d + 1) // 2 if its["n_statistics"] == d * (d + 3) // 2 else -1


class FactoredMemory(Memory):
    """Memory for full Gaussians. Covariances are held as Cholesky factors, relative to their largest entries.

    A factor of single precision changes a variance in any direction by some 1e-7 of itself, even where it is tiny; a
    covariance would change it by 1e-7 of the largest variance, and might no longer be positive definite.
    """

    _per_clump: ClassVar[tuple[str, ...]] = ("clump_counts", "clump_means", "clump_scales", "clump_factors")

    _invariants = {
        "clump_sums": ABSENT,
        "clump_means": Array("float64", "n_clumps", "n_features"),
        "clump_scales": Array("float64", "n_clumps", above=0.0),
        "clump_factors": Array("float32", "n_clumps", _factor_size, low=-1.0, high=1.0),
    }

    clump_means: np.ndarray
    clump_scales: np.ndarray
    clump_factors: np.ndarray

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The same memory in this form."""
        self = object.__new__(cls)
        vars(self).update({name: value for name, value in vars(memory).items() if name not in Memory._per_clump})
        self._hold(memory.clump_counts, memory.clump_sums)
        return self

    @staticmethod
    def clump_bytes(n_features: int, n_statistics: int) -> int:
        return 8 * (n_features + 2) + 4 * (n_statistics - n_features)

    def _stored(self, counts: np.ndarray, sums: np.ndarray) -> dict[str, np.ndarray]:
        d = self.rows.values.shape[1]
        averages = sums / counts[:, None]
        factors = np.empty((len(counts), sums.shape[1] - d))
        factor(averages, d, factors)
        scales = np.abs(factors).max(axis=1, initial=0.0)
        scales[scales == 0] = 1.0
        small = (factors / scales[:, None]).astype(np.float32)
        return dict(zip(self._per_clump, (counts, averages[:, :d].copy(), scales, small), strict=True))

    @property
    def clump_sums(self) -> np.ndarray:  # type: ignore[override]
        d = self.clump_means.shape[1]
        sums = np.empty((len(self.clump_counts), d + self.clump_factors.shape[1]))
        sums[:, :d] = self.clump_means
        unfactor(self.clump_factors * self.clump_scales[:, None], d, sums)
        return sums * self.clump_counts[:, None]

    def _recount(self, counts: np.ndarray) -> None:
        self.clump_counts = counts
