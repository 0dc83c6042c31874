"""Components of a Dirichlet-process mixture (gomes2008, eq. 2.8-2.13): their posterior and its predictions."""

import re
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from modicum.clumps.splits import Split
from modicum.families import Family
from modicum.mixture.sticks import Sticks
from modicum.numeric.distances import in_tiles
from modicum.rows import n_rows, take
from modicum.rules.invariants import TEXT, Array, Each, Is, Real, Whole
from modicum.state.packing import held_bytes
from modicum.state.part import Part

FIELDS = ("family", "concentration", "counts", "sums", "names", "n_numbered")


class Components(Part):
    """Count, sum of statistics and name of each component."""

    _invariants = {
        "family": Is(Family),
        "concentration": Real(above=0.0),
        "counts": Array("float64", "k", low=0.0),
        "sums": Array("float64", "k", lambda its: its["family"].n_statistics),
        "names": Each(TEXT, "k"),
        "n_numbered": Whole(),
    }

    def __init__(
        self,
        family: Family,
        concentration: float,
        counts: np.ndarray,
        sums: np.ndarray,
        names: list[str],
        n_numbered: int,
    ):
        self.family = family
        self.concentration = concentration
        self.counts = counts
        self.sums = sums
        self.names = names
        self.n_numbered = n_numbered  # names such as c7 that have been used so far

    @classmethod
    def new(cls, family: Family, concentration: float, counts: np.ndarray, sums: np.ndarray) -> Self:
        """The first components."""
        return cls(family, concentration, counts, sums, _numbered(0, len(counts)), len(counts))

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def _with(self, **changes: Any) -> Self:
        return type(self)(**(self._fields() | changes))

    @property
    def nbytes(self) -> int:
        return held_bytes(self._fields())  # cached properties are not held for long

    def __len__(self) -> int:
        return len(self.counts)

    # ---- the posterior ---------------------------------------------------------------------------

    @cached_property
    def sticks(self) -> Sticks:
        return Sticks(self.counts, self.concentration)

    @property
    def weights(self) -> np.ndarray:
        """Mean weights, as if there were no other components; they sum to 1."""
        return self.sticks.means / self.sticks.means.sum()

    @cached_property
    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """(slopes, offsets): S of eq. 2.9 is mean statistics @ slopes.T + offsets."""
        slopes, offsets = self.family.expected_log_likelihood(self.counts, self.sums)
        return slopes, offsets + self.sticks.expected_logs

    @cached_property
    def evidence(self) -> np.ndarray:
        """log p(rows of each component)."""
        return self.family.log_evidence(self.counts, self.sums)

    @property
    def complexity(self) -> float:
        """Divergence of the posterior from the prior (eq. 2.13)."""
        slopes, offsets = self.scores
        likelihood = np.einsum("kp,kp->", slopes, self.sums) + self.counts @ offsets
        return float(likelihood - self.evidence.sum() - self.sticks.log_evidence)

    # ---- changes ---------------------------------------------------------------------------------

    def updated(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        """The same components with other statistics; open parameters of the prior are fitted to them."""
        return self._with(counts=counts, sums=sums, family=self.family.fitted(counts, sums))

    def scaled_to(self, count: float) -> Self:
        """The same components, scaled to a total count."""
        return self.scaled(count / self.counts.sum())

    def scaled(self, factor: float) -> Self:
        """The same components with all counts times a factor."""
        return self._with(counts=factor * self.counts, sums=factor * self.sums)

    def split(self, splits: dict[int, Split]) -> Self:
        """Each component in `splits` replaced by its two halves; the larger one keeps the name."""
        counts, sums = self.counts.copy(), self.sums.copy()
        for k, split in splits.items():
            counts[k], sums[k] = split.counts[0], split.sums[0]
        return self._with(
            counts=np.append(counts, [split.counts[1] for split in splits.values()]),
            sums=np.concatenate([sums, [split.sums[1] for split in splits.values()]]),
            names=self.names + _numbered(self.n_numbered, len(splits)),
            n_numbered=self.n_numbered + len(splits),
        )

    def merged(self, pairs: list[tuple[int, int]]) -> Self:
        """The second of each pair merged into the first. A given name is kept rather than a number."""
        counts, sums, names = self.counts.copy(), self.sums.copy(), self.names.copy()
        for into, gone in pairs:
            counts[into] += counts[gone]
            sums[into] += sums[gone]
            if is_number(names[into]) and not is_number(names[gone]):
                names[into] = names[gone]
        return self._with(counts=counts, sums=sums, names=names).without([gone for _, gone in pairs])

    def without(self, gone: Any) -> Self:
        """The components except those in `gone`."""
        left = np.delete(np.arange(len(self)), gone)
        return self._with(counts=self.counts[left], sums=self.sums[left], names=[self.names[k] for k in left])

    def joined(self, other: Self) -> Self:
        """These components and those of another mixture, which keep given names that are not used here."""
        names = _numbered(self.n_numbered, len(other))
        for k, name in enumerate(other.names):
            if not is_number(name) and name not in self.names:
                names[k] = name
        moved = self.family.translated_from(other.family, other.counts, other.sums)
        return self._with(
            counts=np.append(self.counts, other.counts),
            sums=np.concatenate([self.sums, moved]),
            names=self.names + names,
            n_numbered=self.n_numbered + len(other),
        )

    def sorted(self) -> Self:
        """The components sorted by decreasing count, with new numbers for names."""
        order = np.argsort(-self.counts, kind="stable")
        return self._with(counts=self.counts[order], sums=self.sums[order], names=_numbered(0, len(order)))

    # ---- densities--------------------------------------------------------------------------------

    def log_joint(self, X: Any) -> np.ndarray:
        """log p(row, component) for new rows; the last column is for all components not seen yet."""
        counts = np.append(self.counts, 0.0)
        sums = np.concatenate([self.sums, np.zeros((1, self.sums.shape[1]))])
        logs = np.log(np.append(self.sticks.means, self.sticks.mean_rest))
        out = np.empty((n_rows(X), len(counts)))

        def work(tile: slice) -> None:
            out[tile] = logs + self.family.log_predictive(take(X, tile), counts, sums)

        in_tiles(work, n_rows(X), len(counts))
        return out

    def novelty(self, X: Any) -> np.ndarray:
        """Probability that a row belongs to a component that has not been seen yet."""
        joint = self.log_joint(X)
        return np.exp(joint[:, -1] - logsumexp(joint, axis=1))

    def log_plug_in(self, X: Any) -> np.ndarray:
        """log p(row) of the mixture with the mean weights and parameters."""
        logs, out = np.log(self.weights), np.empty(n_rows(X))

        def work(tile: slice) -> None:
            out[tile] = logsumexp(logs + self.family.log_plug_in(take(X, tile), self.counts, self.sums), axis=1)

        in_tiles(work, n_rows(X), len(logs))
        return out


def is_number(name: str) -> bool:
    """Whether a name is a number such as c7 and was not given by the user."""
    return re.fullmatch(r"c[0-9]+", name) is not None


def _numbered(first: int, count: int) -> list[str]:
    return [f"c{number}" for number in range(first, first + count)]
