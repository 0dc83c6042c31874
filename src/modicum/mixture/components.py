"""Components of a Dirichlet-process mixture (gomes2008, eq. 2.8-2.13): a posterior, and what it expects of rows."""

import re
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from modicum.families import Family
from modicum.mixture.splits import Split
from modicum.mixture.sticks import Sticks
from modicum.numeric.distances import in_tiles
from modicum.rules.invariants import TEXT, Array, Each, Is, Real, Whole
from modicum.state.packing import held_bytes
from modicum.state.part import Part

FIELDS = ("family", "concentration", "counts", "sums", "names", "n_born")


class Components(Part):
    """Counts and sums of statistics of each component, and a name by which it is known as long as it lives."""

    _invariants = {
        "family": Is(Family),
        "concentration": Real(above=0.0),
        "counts": Array("float64", "k", low=0.0),
        "sums": Array("float64", "k", lambda its: its["family"].n_statistics),
        "names": Each(TEXT, "k"),
        "n_born": Whole(),
    }

    def __init__(
        self, family: Family, concentration: float, counts: np.ndarray, sums: np.ndarray, names: list[str], n_born: int
    ):
        self.family = family
        self.concentration = concentration
        self.counts = counts
        self.sums = sums
        self.names = names
        self.n_born = n_born  # components that have been named after their number so far

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
        return held_bytes(self._fields())  # what is computed from the fields is not held for long

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
        """(slopes, offsets): mean statistics @ slopes.T + offsets is S of eq. 2.9."""
        slopes, offsets = self.family.expected_log_likelihood(self.counts, self.sums)
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
        return self._with(counts=counts, sums=sums, family=self.family.fitted(counts, sums))

    def scaled_to(self, count: float) -> Self:
        """As if of so many rows."""
        scale = count / self.counts.sum()
        return self._with(counts=scale * self.counts, sums=scale * self.sums)

    def split(self, splits: dict[int, Split]) -> Self:
        """Each component named in `splits` becomes two; the larger one keeps the name."""
        counts, sums = self.counts.copy(), self.sums.copy()
        for k, split in splits.items():
            counts[k], sums[k] = split.counts[0], split.sums[0]
        return self._with(
            counts=np.append(counts, [split.counts[1] for split in splits.values()]),
            sums=np.concatenate([sums, [split.sums[1] for split in splits.values()]]),
            names=self.names + _numbered(self.n_born, len(splits)),
            n_born=self.n_born + len(splits),
        )

    def merged(self, pairs: list[tuple[int, int]]) -> Self:
        """The second of each pair becomes part of the first. A name that was given outlives one that was not."""
        counts, sums, names = self.counts.copy(), self.sums.copy(), self.names.copy()
        for stay, gone in pairs:
            counts[stay] += counts[gone]
            sums[stay] += sums[gone]
            if is_number(names[stay]) and not is_number(names[gone]):
                names[stay] = names[gone]
        return self._with(counts=counts, sums=sums, names=names).without([gone for _, gone in pairs])

    def without(self, gone: Any) -> Self:
        """The other components."""
        left = np.delete(np.arange(len(self)), gone)
        return self._with(counts=self.counts[left], sums=self.sums[left], names=[self.names[k] for k in left])

    def joined(self, other: Self) -> Self:
        """With the components of another mixture, which keep the names that were given if they are not taken here."""
        names = _numbered(self.n_born, len(other))
        for k, name in enumerate(other.names):
            if not is_number(name) and name not in self.names:
                names[k] = name
        moved = self.family.translated_from(other.family, other.counts, other.sums)
        return self._with(
            counts=np.append(self.counts, other.counts),
            sums=np.concatenate([self.sums, moved]),
            names=self.names + names,
            n_born=self.n_born + len(other),
        )

    def sorted(self) -> Self:
        """The largest first, numbered anew."""
        order = np.argsort(-self.counts, kind="stable")
        return self._with(counts=self.counts[order], sums=self.sums[order], names=_numbered(0, len(order)))

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
        logs, out = np.log(self.weights), np.empty(len(X))

        def work(part: slice) -> None:
            out[part] = logsumexp(logs + self.family.log_plug_in(X[part], self.counts, self.sums), axis=1)

        in_tiles(work, len(X), len(logs))
        return out


def is_number(name: str) -> bool:
    """Whether a name is one that nobody gave."""
    return re.fullmatch(r"c[0-9]+", name) is not None


def _numbered(first: int, count: int) -> list[str]:
    return [f"c{number}" for number in range(first, first + count)]
