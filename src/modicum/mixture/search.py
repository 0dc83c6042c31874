"""Search for the components of a mixture: updates, splits and merges (kurihara2007; gomes2008, section 2.5.1).

The free energy, a lower bound of the log-evidence, rises at every update. A split or a merge is kept only if it has
risen by that as well.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.mixture.components import Components
from modicum.mixture.items import Expectation, Items
from modicum.mixture.splits import Split, split_firmly, split_softly
from modicum.mixture.sticks import Sticks
from modicum.numeric.nearest import by_label
from modicum.numeric.parallel import run_tiles

ONE_GROUP = np.zeros(1, np.intp)  # where the only group of items starts
FIRST_GROUPS = 1, 4  # to begin with: two parts may lose where four gain, and four may be too many to merge again
LOCAL_STEPS = 10  # updates of two halves alone, before they are judged
MOST_ITEMS = 4096  # that are looked at for one split
BATCH_ITEMS = 1024  # of components that are split at once: enough for all threads
UNCHANGED = 0.05  # a component whose count has changed by less is not tried again after a split in vain
NEAREST = 5  # other components that a component may be merged with
COARSE = 10  # times the tolerance: for updates between splits
EMPTY = 1e-3  # of the lightest item: components with less have nothing


@dataclass(frozen=True)
class Fit:
    """Components, and the assignments of all items to them."""

    components: Components
    expectation: Expectation

    @property
    def free_energy(self) -> float:
        """Eq. 2.11."""
        return self.expectation.likelihood - self.components.complexity


def first_components(items: Items, concentration: float, n_groups: int) -> Components:
    """Groups of items, cut along principal directions: where a search may begin."""
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
    """Climbs to a maximum of the free energy on given items.

    `tol` is the gain per row, in nats, below which nothing is worth a step.
    """

    def __init__(self, items: Items, tol: float, max_components: int):
        self._items = items
        self._least_gain = tol * float(items.counts.sum())
        self._max_components = max_components
        self._in_vain: dict[str, float] = {}  # counts, by name, of components that were not worth a split

    def first(self, concentration: float) -> Fit:
        """The best that is found from the beginning."""
        starts = [first_components(self._items, concentration, count) for count in FIRST_GROUPS]
        return max(map(self.run, starts), key=lambda fit: fit.free_energy)

    def run(self, start: Components) -> Fit:
        """The best that is found from `start` on by updates, splits and merges."""
        self._in_vain.clear()
        start = start.merged(self._best_pairs(start, 0.0))
        while len(start) > self._max_components:
            start = start.merged(self._best_pairs(start, -np.inf)[: len(start) - self._max_components])
        fit, gain = self.climb(start, COARSE), np.inf
        while gain > COARSE * self._least_gain:  # what has moved so far may look different now
            while better := self._split(fit) or self._merge(fit):
                fit = better
            last, fit = fit, self.climb(fit.components)
            gain = fit.free_energy - last.free_energy
        return fit

    def climb(self, start: Components, ease: float = 1.0) -> Fit:
        """Updates (eq. 2.8) until they gain too little, `ease` times as much if need be."""
        fit = self._assign(start)
        while True:
            last, found = fit, fit.expectation
            fit = self._assign(last.components.updated(found.counts, found.sums))
            if not fit.free_energy - last.free_energy >= ease * self._least_gain:  # nor if it is no number
                empty = fit.components.counts < EMPTY * self._items.counts.min()
                return self._assign(fit.components.without(empty)) if empty.any() else fit

    def _assign(self, components: Components) -> Fit:
        return Fit(components, self._items.expect(components))

    # ---- splits ----------------------------------------------------------------------------------

    def _split(self, fit: Fit) -> Fit | None:
        """All splits that promise a gain, at once, as they hardly touch each other; else the best alone."""
        splits = self._promising_splits(fit)
        for few in (splits, dict(list(splits.items())[:1])):
            if few:
                better = self.climb(fit.components.split(few), COARSE)
                if better.free_energy - fit.free_energy > self._least_gain:
                    return better
        return None

    def _promising_splits(self, fit: Fit) -> dict[int, Split]:
        """By component, those of the largest gain first."""
        components, labels = fit.components, fit.expectation.labels
        borders = np.cumsum(np.bincount(labels, minlength=len(components)))[:-1]
        members = dict(enumerate(np.split(by_label(labels, len(components)), borders)))
        tried = [k for k, which in members.items() if len(which) > 1 and self._is_worth_a_try(components, k)]
        batches = list(_batches({k: members[k] for k in tried}))
        found: dict[int, tuple[float, Split]] = {}

        def work(part: slice) -> None:
            found.update(self._splits(components, batches[part.start]))

        run_tiles(work, len(batches), 1)
        self._in_vain |= {components.names[k]: components.counts[k] for k in tried if k not in found}
        best = sorted(found, key=lambda k: (-found[k][0], k))[: max(0, self._max_components - len(components))]
        return {k: found[k][1] for k in best}

    def _is_worth_a_try(self, components: Components, k: int) -> bool:
        count = components.counts[k]
        return abs(self._in_vain.get(components.names[k], 0.0) - count) >= UNCHANGED * count

    def _splits(self, components: Components, members: dict[int, np.ndarray]) -> dict[int, tuple[float, Split]]:
        """Splits that gain, with their gains; a second direction is tried where the first one is in vain."""
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
        """Counts and mean statistics of the items of groups, or of a sample of many, and where each group starts."""
        samples = [_sample(group) for group in groups]
        sizes = np.array([len(sample) for sample in samples])
        shares = np.repeat(sizes / [len(group) for group in groups], sizes)
        which = np.concatenate(samples)
        return self._items.counts[which] / shares, self._items.averages(which), np.cumsum(sizes) - sizes

    # ---- merges ----------------------------------------------------------------------------------

    def _merge(self, fit: Fit) -> Fit | None:
        """All merges that promise a gain, best first and each component once."""
        pairs = self._best_pairs(fit.components, 0.0)
        if not pairs:
            return None
        better = self.climb(fit.components.merged(pairs), COARSE)
        return better if better.free_energy - fit.free_energy > self._least_gain else None

    def _best_pairs(self, components: Components, least_gain: float) -> list[tuple[int, int]]:
        """Pairs that gain more than that by a merge, the best first: the larger component, the smaller one."""
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
        """What merges gain; where it must be less than the least gain, an upper bound of that."""
        counts = components.counts[pairs].sum(axis=1)
        gains = components.family.log_evidence(counts, components.sums[pairs].sum(axis=1))
        gains -= components.evidence[pairs].sum(axis=1)
        gains += [_gain_of_sticks(components, pair, count) for pair, count in zip(pairs, counts, strict=True)]
        left = gains > least_gain
        if left.any():
            gains[left] -= self._items.entropy_between(components, pairs[left])
        return gains


def _near_pairs(components: Components) -> np.ndarray:
    """Each component with those that expect most of its rows."""
    slopes, offsets = components.scores
    scores = components.sums / components.counts[:, None] @ slopes.T + offsets
    np.fill_diagonal(scores, -np.inf)
    near = np.argsort(-scores, axis=1, kind="stable")[:, : min(NEAREST, len(components) - 1)]
    pairs = np.stack([np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _gain_of_sticks(components: Components, gone: Any, come: Any) -> float:
    """Of weights, when components with counts `come` take the place of others."""
    counts = np.append(np.delete(components.counts, gone), come)
    return Sticks(counts, components.concentration).log_evidence - components.sticks.log_evidence


def _sample(which: np.ndarray) -> np.ndarray:
    """Every so many-th item of many."""
    return which[:: math.ceil(len(which) / MOST_ITEMS)]


def _batches(members: dict[int, np.ndarray]) -> Iterator[dict[int, np.ndarray]]:
    """Components and their items, so many at a time that not too much is gathered."""
    batch: dict[int, np.ndarray] = {}
    for k, which in members.items():
        if batch and sum(len(_sample(group)) for group in batch.values()) + len(_sample(which)) > BATCH_ITEMS:
            yield batch
            batch = {}
        batch[k] = which
    if batch:
        yield batch
