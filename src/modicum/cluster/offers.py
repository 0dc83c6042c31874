"""Offers: blocks of candidates that become exemplars or not (gomes2010, Algorithm 1 and Appendix II)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.cluster.racing import Race
from modicum.cluster.screening import PER_BLOCK, Screen
from modicum.rows import n_rows, take
from modicum.rules.invariants import Real, Whole
from modicum.select.apart import ApartBlock, Close
from modicum.select.objectives.exemplar import ExemplarObjective, Prepared
from modicum.select.swaps import CANDIDATES_PER_SWAP, grow, improve
from modicum.state.part import Part

NOISE_MARGIN = 4  # roundings that a swap must exceed: below, swaps could go in circles
Changes = list[tuple[int, int]]  # (candidate, slot)


@dataclass(frozen=True)
class SwapRules:
    """When a candidate becomes an exemplar: parameters of the learner under their own names."""

    swaps: str
    min_gain: float
    confidence: float | None
    close: Close | None = None  # rows of which no two may be exemplars

    @property
    def most(self) -> int | None:
        """Swaps per block; None: all that gain enough."""
        return None if self.swaps == "eager" else 1

    @property
    def may_screen(self) -> bool:
        """Whether candidates may be refused by a part of the validation sample; the paper's rules score all in full."""
        return self.swaps == "eager" and self.confidence is None

    def block_size(self, F: ExemplarObjective) -> int:
        """Candidates per block."""
        return F.block_size() if self.swaps == "eager" else CANDIDATES_PER_SWAP


class Offers(Part):
    """Offers candidates to an objective, and counts what that costs and brings."""

    _invariants = {
        "n_candidates": Whole(),
        "n_swaps": Whole(),
        "n_evaluations": Whole(),
        "n_evaluations_saved": Whole(),
        "n_races": Whole(),
        "n_without_swap": Whole(),
        "rounding": Real(0.0),
    }

    def __init__(self) -> None:
        self.n_candidates = 0
        self.n_swaps = 0
        self.n_evaluations = 0
        self.n_evaluations_saved = 0
        self.n_races = 0
        self.n_without_swap = 0  # candidates since the last swap
        self.rounding = 0.0  # relative precision of the dissimilarities

    def add_counts(self, other: "Offers") -> None:
        """Count the offers of another learner, in a merge."""
        for name in ("n_candidates", "n_swaps", "n_evaluations", "n_evaluations_saved"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def offer(
        self, F: ExemplarObjective, X: Any, excluded: np.ndarray, rules: SwapRules, rng: np.random.Generator
    ) -> Iterator[tuple[slice, Changes]]:
        """Offer rows of X block by block; yields each block with its changes, candidates counted within the block.

        `excluded` are slots of the validation rows on which these candidates are not scored, -1 for none.
        """
        prepared, first = F.prepare(), 0
        self.rounding = F.dissimilarity.rounding(prepared.rows)
        while first < n_rows(X):
            screens = rules.may_screen and Screen.pays(F)
            size = rules.block_size(F) * (PER_BLOCK if screens else 1)
            block = slice(first, min(first + size, n_rows(X)))
            best = np.arange(block.start, block.stop)
            if screens:
                screen = Screen(F, rng)
                best = first + screen.best(take(X, block), excluded[block])
                self.n_evaluations += (block.stop - first) * screen.n_rows
            changes = self._offer_block(F, take(X, best), prepared, excluded[best], rules, rng)
            changes = [(int(best[i]) - first, slot) for i, slot in changes]
            first = block.stop
            count = block.stop - block.start
            self.n_candidates += count
            self.n_swaps += len(changes)
            self.n_without_swap = 0 if changes else self.n_without_swap + count
            yield block, changes

    def _offer_block(
        self,
        F: ExemplarObjective,
        candidates: Any,
        prepared: Prepared,
        excluded: np.ndarray,
        rules: SwapRules,
        rng: np.random.Generator,
    ) -> Changes:
        """Add or swap in candidates."""
        if rules.confidence is not None and not F.n_missing:
            return self._race(F, candidates, excluded, rules, rng)
        block: Any = F.look(candidates, prepared, excluded)
        missing = F.n_missing
        if rules.close is not None:
            block = ApartBlock(block, rules.close)
        self.n_evaluations += n_rows(candidates) * len(F.rows)
        changes = self._grow(block, min(missing, rules.most or missing))
        if not F.n_missing and (not changes or rules.most is None):
            changes += improve(block, rules.most, self.least_gain(F, rules))
        return changes

    def _race(
        self, F: ExemplarObjective, candidates: Any, excluded: np.ndarray, rules: SwapRules, rng: np.random.Generator
    ) -> Changes:
        """Swap candidates in as soon as a subset of the validation sample decides."""
        assert rules.confidence is not None
        self.n_races += 1
        delta = (1 - rules.confidence) * 6 / (np.pi * self.n_races) ** 2  # of all races these sum to 1 - confidence
        race = Race(F, candidates, delta, rng, excluded)
        changes = race.run(rules.most, self.least_gain(F, rules))
        self.n_evaluations += race.n_evaluations
        self.n_evaluations_saved += n_rows(candidates) * len(F.rows) - race.n_evaluations
        return changes

    def _grow(self, block: Any, most: int) -> Changes:
        """Fill free slots; in rounds, since the noise level falls with the loss."""
        F = block.objective
        added: Changes = []
        while len(added) < most and (more := grow(block, most - len(added), self.noise(F))):
            added += more
        if not F.n_chosen:  # nothing gains anything, but there must be an exemplar
            added.append((0, block.add(0)))
        return added

    def least_gain(self, F: ExemplarObjective, rules: SwapRules) -> float:
        """What a swap must gain."""
        return max(rules.min_gain * F.loss, NOISE_MARGIN * self.noise(F))

    def noise(self, F: ExemplarObjective) -> float:
        """The rounding error of a gain: dissimilarities are differences of numbers of their typical size."""
        held = float(np.finfo(F.near.dtype).eps) * F.loss
        return max(held, self.rounding * F.typical()) if F.n_chosen else held


def best_swap_gain(F: ExemplarObjective, excluded: np.ndarray) -> float:
    """The largest gain of a swap of a validation row for an exemplar.

    Cost: O(W^2 d) time for W validation rows; scratch as for any candidates, a block at a time.
    """
    size, prepared = F.block_size(), F.prepare()
    blocks = [slice(first, first + size) for first in range(0, len(F.rows), size)]
    gains = (F.look(take(F.rows.values, block), prepared, excluded[block]).swap_gains()[0] for block in blocks)
    return max(float(gain.max()) for gain in gains)
