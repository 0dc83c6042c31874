"""Search for the components of a mixture: updates, splits and merges (kurihara2007; gomes2008, section 2.5.1).

The free energy, a lower bound of the log-evidence, rises with every update. A split or a merge is kept only if it
raises the free energy, too.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.clumps.items import Expectation, Items
from modicum.clumps.pairs import nearest_pairs
from modicum.clumps.splits import Split, split_firmly, split_softly
from modicum.mixture.components import Components
from modicum.mixture.sticks import Sticks
from modicum.numeric.nearest import by_label
from modicum.numeric.parallel import run_tiles

ONE_GROUP = np.zeros(1, np.intp)  # the first item of the only group
FIRST_GROUPS = 1, 4  # both are tried: two may lose where four gain, and four may be too many to merge again
LOCAL_STEPS = 10  # updates of two halves alone, before their gain is computed
MAX_ITEMS = 4096  # in the sample that one split is computed from
BATCH_ITEMS = 1024  # in all components that are split together: enough for all threads
UNCHANGED = 0.05  # after a failed split, a component is tried again once its count has changed by more than this
NEAREST = 5  # other components that a component may be merged with
COARSE = 10  # times the tolerance, for updates between splits
EMPTY = 1e-3  # of the lightest item: components with a smaller count are removed


@dataclass(frozen=True)
class Fit:
    """Components, and statistics of the assignments of all items to them."""

    components: Components
    expectation: Expectation

    @property
    def free_energy(self) -> float:
        """Eq. 2.11."""
        return self.expectation.likelihood - self.components.complexity


def first_components(items: Items, concentration: float, n_groups: int) -> Components:
    """Initial components: groups of items, split along principal directions."""
    groups = [_sample(np.arange(len(items)))]
    while len(groups) < n_groups and len(groups[-1]) > 1:
        group = groups.pop()
        first = split_firmly(items.family, items.counts[group], items.averages(group), ONE_GROUP, LOCAL_STEPS).first
        if first.all() or not first.any():  # equal items
            groups.append(group)
            break
        groups += [group[first], group[~first]]
        groups.sort(key=lambda group: items.counts[group].sum() if len(group) > 1 else 0.0)
    counts, sums = items.totals(groups)
    return Components.new(items.family, concentration, counts, sums).scaled_to(items.counts.sum())


class Search:
    """Search for a maximum of the free energy of given items.

    `tol` is the least improvement of the free energy per row, in nats, that is worth another step.
    """

    def __init__(self, items: Items, tol: float, max_components: int):
        self._items = items
        self._least_gain = tol * float(items.counts.sum())
        self._max_components = max_components
        self._failed_splits: dict[str, float] = {}  # counts, by name, of components without a split that gains

    def from_scratch(self, concentration: float) -> Fit:
        """The best fit found without earlier components."""
        initial = [first_components(self._items, concentration, count) for count in FIRST_GROUPS]
        return max(map(self.run, initial), key=lambda fit: fit.free_energy)

    def run(self, components: Components) -> Fit:
        """The best fit found from `components` by updates, splits and merges."""
        self._failed_splits.clear()
        components = components.merged(self._best_pairs(components, 0.0))
        while len(components) > self._max_components:
            excess = len(components) - self._max_components
            components = components.merged(self._best_pairs(components, -np.inf)[:excess])
        fit, gain = self.update(components, COARSE), np.inf
        while gain > COARSE * self._least_gain:  # after larger changes, other splits and merges may gain
            while better := self._split(fit) or self._merge(fit):
                fit = better
            last, fit = fit, self.update(fit.components)
            gain = fit.free_energy - last.free_energy
        return fit

    def update(self, components: Components, ease: float = 1.0) -> Fit:
        """Updates (eq. 2.8) until they gain less than `ease` times the least gain."""
        fit = self._assign(components)
        while True:
            last, found = fit, fit.expectation
            fit = self._assign(last.components.updated(found.counts, found.sums))
            if not fit.free_energy - last.free_energy >= ease * self._least_gain:  # also true for NaN
                empty = fit.components.counts < EMPTY * self._items.counts.min()
                return self._assign(fit.components.without(empty)) if empty.any() else fit

    def _assign(self, components: Components) -> Fit:
        return Fit(components, self._items.expect(components.scores))

    # ---- splits ----------------------------------------------------------------------------------

    def _split(self, fit: Fit) -> Fit | None:
        """The fit after all promising splits, which hardly interact, or after the best; None if it does not gain."""
        splits = self._promising_splits(fit)
        for few in (splits, dict(list(splits.items())[:1])):
            if few:
                better = self.update(fit.components.split(few), COARSE)
                if better.free_energy - fit.free_energy > self._least_gain:
                    return better
        return None

    def _promising_splits(self, fit: Fit) -> dict[int, Split]:
        """Splits by component, sorted by decreasing gain."""
        components, labels = fit.components, fit.expectation.labels
        borders = np.cumsum(np.bincount(labels, minlength=len(components)))[:-1]
        members = dict(enumerate(np.split(by_label(labels, len(components)), borders)))
        tried = [k for k, which in members.items() if len(which) > 1 and self._is_worth_a_try(components, k)]
        batches = list(_batches({k: members[k] for k in tried}))
        found: dict[int, tuple[float, Split]] = {}

        def work(tile: slice) -> None:
            found.update(self._splits(components, batches[tile.start]))

        run_tiles(work, len(batches), 1)
        self._failed_splits |= {components.names[k]: components.counts[k] for k in tried if k not in found}
        best = sorted(found, key=lambda k: (-found[k][0], k))[: max(0, self._max_components - len(components))]
        return {k: found[k][1] for k in best}

    def _is_worth_a_try(self, components: Components, k: int) -> bool:
        count = components.counts[k]
        return abs(self._failed_splits.get(components.names[k], 0.0) - count) >= UNCHANGED * count

    def _splits(self, components: Components, members: dict[int, np.ndarray]) -> dict[int, tuple[float, Split]]:
        """Splits that gain, with their gains; a second direction is tried where the first one does not gain."""
        family = components.family
        found: dict[int, tuple[float, Split]] = {}
        for direction in range(2):
            left = [k for k in members if k not in found]
            if left:
                items = self._gathered([members[k] for k in left])
                along = family.projections(*items)[:, -1 if direction else 0]
                for k, split in zip(left, split_softly(family, *items, along, LOCAL_STEPS), strict=True):
                    gain = split.gain + _gain_of_sticks(components, k, split.counts)
                    if gain > 0 and split.counts[1] > 0:
                        found[k] = gain, split
        return found

    def _gathered(self, groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Counts and mean statistics of the items of groups, or a sample of them, and the first item of each group."""
        samples = [_sample(group) for group in groups]
        sizes = np.array([len(sample) for sample in samples])
        shares = np.repeat(sizes / [len(group) for group in groups], sizes)
        which = np.concatenate(samples)
        return self._items.counts[which] / shares, self._items.averages(which), np.cumsum(sizes) - sizes

    # ---- merges ----------------------------------------------------------------------------------

    def _merge(self, fit: Fit) -> Fit | None:
        """The fit after all promising merges, the best first and each component once; None if they do not gain."""
        pairs = self._best_pairs(fit.components, 0.0)
        if not pairs:
            return None
        better = self.update(fit.components.merged(pairs), COARSE)
        return better if better.free_energy - fit.free_energy > self._least_gain else None

    def _best_pairs(self, components: Components, least_gain: float) -> list[tuple[int, int]]:
        """Pairs whose merge gains more than `least_gain`, the best first: (larger component, smaller component)."""
        if len(components) < 2:
            return []
        pairs = _near_pairs(components)
        gains = self._gains(components, pairs, least_gain)
        found: list[tuple[int, int]] = []
        used: set[int] = set()
        for at in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > least_gain)]:
            pair = sorted(pairs[at].tolist(), key=lambda k: -components.counts[k])
            if used.isdisjoint(pair):
                used.update(pair)
                found.append((pair[0], pair[1]))
        return found

    def _gains(self, components: Components, pairs: np.ndarray, least_gain: float) -> np.ndarray:
        """Gains of merges; an upper bound where that is already below the least gain."""
        counts = components.counts[pairs].sum(axis=1)
        gains = components.family.log_evidence(counts, components.sums[pairs].sum(axis=1))
        gains -= components.evidence[pairs].sum(axis=1)
        gains += [_gain_of_sticks(components, pair, count) for pair, count in zip(pairs, counts, strict=True)]
        left = gains > least_gain
        if left.any():
            gains[left] -= self._items.entropy_between(components.scores, pairs[left])
        return gains


def _near_pairs(components: Components) -> np.ndarray:
    """Pairs of each component with those under which its rows are most likely."""
    slopes, offsets = components.scores
    return nearest_pairs(components.sums / components.counts[:, None] @ slopes.T + offsets, NEAREST)


def _gain_of_sticks(components: Components, gone: Any, new_counts: Any) -> float:
    """Change in the evidence of the weights when components with `new_counts` replace those in `gone`."""
    counts = np.append(np.delete(components.counts, gone), new_counts)
    return Sticks(counts, components.concentration).log_evidence - components.sticks.log_evidence


def _sample(which: np.ndarray) -> np.ndarray:
    """All items, or a regular sample of many."""
    return which[:: math.ceil(len(which) / MAX_ITEMS)]


def _batches(members: dict[int, np.ndarray]) -> Iterator[dict[int, np.ndarray]]:
    """Components and their items in batches, which bounds the memory for gathered items."""
    batch: dict[int, np.ndarray] = {}
    for k, which in members.items():
        if batch and sum(len(_sample(group)) for group in batch.values()) + len(_sample(which)) > BATCH_ITEMS:
            yield batch
            batch = {}
        batch[k] = which
    if batch:
        yield batch
