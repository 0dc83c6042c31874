"""Components of a Dirichlet-process mixture (gomes2008, eq. 2.8-2.13): a posterior, and what it expects of rows."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from modicum.families import Family
from modicum.kernels.distances import in_tiles
from modicum.mixture.splits import Split
from modicum.mixture.sticks import Sticks
from modicum.state import Part, held_bytes


class Components(Part):
    """Counts and sums of statistics of each component, and a number by which it is known as long as it lives."""

    def __init__(
        self, family: Family, concentration: float, counts: np.ndarray, sums: np.ndarray, ids: np.ndarray, n_born: int
    ):
        self.family = family
        self.concentration = concentration
        self.counts = counts
        self.sums = sums
        self.ids = ids
        self.n_born = n_born

    @classmethod
    def single(cls, family: Family, concentration: float, count: float, sums: np.ndarray) -> Self:
        """One component."""
        return cls(family, concentration, np.array([count]), sums[None], np.zeros(1, np.int64), 1)

    def _fields(self) -> dict[str, Any]:
        names = ("family", "concentration", "counts", "sums", "ids", "n_born")
        return {name: getattr(self, name) for name in names}

    @property
    def nbytes(self) -> int:
        return held_bytes(self._fields())  # what is computed from the fields is not held for long

    def __len__(self) -> int:
        return len(self.counts)

    # ---- the posterior ---------------------------------------------------------------------------

    @cached_property
    def sticks(self) -> Sticks:
        return Sticks(self.counts, self.concentration)

    @cached_property
    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """(slopes, offsets): mean statistics @ slopes.T + offsets is S of eq. 2.9."""
        slopes, offsets = self.family.expected(self.counts, self.sums)
        return slopes, offsets + self.sticks.expected_logs

    @cached_property
    def evidence(self) -> np.ndarray:
        """log p(rows of each component)."""
        return self.family.log_evidence(self.counts, self.sums)

    @property
    def complexity(self) -> float:
        """Eq. 2.13: how far the posterior is from the prior."""
        slopes, offsets = self.scores
        of_rows = np.einsum("kp,kp->", slopes, self.sums) + self.counts @ offsets
        return float(of_rows - self.evidence.sum() - self.sticks.log_evidence)

    # ---- changes ---------------------------------------------------------------------------------

    def updated(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        """The same components of other rows; the prior follows, as far as it was left open."""
        family = self.family.fitted(counts, sums)
        return type(self)(family, self.concentration, counts, sums, self.ids, self.n_born)

    def scaled_to(self, count: float) -> Self:
        """As if of so many rows."""
        scale = count / self.counts.sum()
        return type(self)(
            self.family, self.concentration, scale * self.counts, scale * self.sums, self.ids, self.n_born
        )

    def split(self, splits: dict[int, Split]) -> Self:
        """Each component named in `splits` becomes two; the larger one keeps the number."""
        at = list(splits)
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[at] = [split.counts[0] for split in splits.values()]
        sums[at] = [split.sums[0] for split in splits.values()]
        return type(self)(
            self.family,
            self.concentration,
            np.append(counts, [split.counts[1] for split in splits.values()]),
            np.concatenate([sums, [split.sums[1] for split in splits.values()]]),
            np.append(self.ids, self.n_born + np.arange(len(at))),
            self.n_born + len(at),
        )

    def merged(self, pairs: list[tuple[int, int]]) -> Self:
        """The second of each pair becomes part of the first."""
        stay, gone = (list(side) for side in zip(*pairs, strict=True))
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[stay] += counts[gone]
        sums[stay] += sums[gone]
        left = np.delete(np.arange(len(self)), gone)
        return type(self)(self.family, self.concentration, counts[left], sums[left], self.ids[left], self.n_born)

    def joined(self, other: Self) -> Self:
        """With the components of another mixture, numbered after these."""
        moved = self.family.from_origin_of(other.family, other.counts, other.sums)
        return type(self)(
            self.family,
            self.concentration,
            np.append(self.counts, other.counts),
            np.concatenate([self.sums, moved]),
            np.append(self.ids, self.n_born + other.ids),
            self.n_born + other.n_born,
        )

    def sorted(self) -> Self:
        """The largest first, numbered anew."""
        order = np.argsort(-self.counts, kind="stable")
        counts, sums = self.counts[order], self.sums[order]
        return type(self)(self.family, self.concentration, counts, sums, np.arange(len(order)), len(order))

    # ---- asking ----------------------------------------------------------------------------------

    def log_joint(self, X: np.ndarray) -> np.ndarray:
        """log p(row, component) for new rows; the last column is that of all components not seen yet."""
        counts = np.append(self.counts, 0.0)
        sums = np.concatenate([self.sums, np.zeros((1, self.sums.shape[1]))])
        logs = np.log(np.append(self.sticks.means, self.sticks.mean_rest))
        out = np.empty((len(X), len(counts)))

        def work(part: slice) -> None:
            out[part] = logs + self.family.log_predictive(X[part], counts, sums)

        in_tiles(work, len(X), len(counts))
        return out

    def log_plug_in(self, X: np.ndarray) -> np.ndarray:
        """log p(row) of the mixture with mean weights and parameters, as if they were known."""
        weights = self.sticks.means / self.sticks.means.sum()
        out = np.empty(len(X))

        def work(part: slice) -> None:
            out[part] = logsumexp(np.log(weights) + self.family.log_plug_in(X[part], self.counts, self.sums), axis=1)

        in_tiles(work, len(X), len(weights))
        return out
