"""Search for topics: updates, splits and merges (gomes2008topics, section 3.5.1; ueda2000).

Every update raises the free energy, a lower bound of the log-evidence (eq. 3.29 with the opposite sign). A split
divides the items of one topic between two and leaves all others as they are, and a merge adds two topics up, so the
gains of several splits, or merges, of different topics add up. The paper tries ten of each and makes the best one; here
all topics that have changed are tried, and all splits that gain enough are made together. A new topic must raise the
free energy by the least gain; a merge must raise it, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from modicum.clumps.pairs import nearest_pairs
from modicum.families import Family
from modicum.topics.grouped_items import GroupedItems
from modicum.topics.model import Model
from modicum.topics.proportions import Proportions
from modicum.topics.splits import TopicSplits

CANDIDATES = 10  # merges that are tried at a time, as in the paper
LOCAL_STEPS = 10  # updates of two halves alone, before their gain is computed
NEAREST = 5  # other topics that a topic may be merged with, beside those that share most items
PROGRESS = 0.1  # of the least gain: changes must be worth more, or the search ends
REFINED = 3  # merges that are tried with updates, where nothing else helps
COARSE = 10  # times the tolerance, for the updates before the first changes
UNCHANGED = 0.05  # after a failed split, a topic is tried again once its count has changed by more than this
EMPTY = 1e-3  # of the lightest item: topics with a smaller count are removed
FIRST_ALPHA = 1.0  # of the only topic that a search starts with


@dataclass(frozen=True)
class Fit:
    """A model after an update, the items of each topic (N_c q_ck) and the free energy."""

    model: Model
    shares: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Change:
    """Topics that others replace, and the gain in free energy."""

    gone: list[int]
    new: Model
    gain: float


class Search:
    """Search for a maximum of the free energy of given items.

    `tol` is the least improvement of the free energy per item, in nats, that is worth another step.
    """

    def __init__(self, items: GroupedItems, sizes: np.ndarray, tol: float, max_topics: int):
        self._items = items
        self._sizes = sizes
        self._least_gain = tol * float(items.counts.sum())
        self._max_topics = max_topics

    def first_model(self, family: Family) -> Model:
        """One topic that has all items."""
        counts, sums = self._items.totals([np.arange(len(self._items))])
        by_group = self._items.by_group(self._items.counts[:, None])
        return Model(family, counts, sums, Proportions(self._sizes, by_group, np.full(1, FIRST_ALPHA)), np.zeros(1))

    def run(self, model: Model) -> Fit:
        """The best fit found, starting from a model."""
        fit = self.update(model, COARSE)
        while len(fit.model) > self._max_topics:  # of two models that have been merged
            fit = self._changed(fit, _disjoint(self._merges(fit), len(fit.model) - self._max_topics))
        while (better := self._better(fit)) is not None:
            fit = better
        return self.update(fit.model)

    def _better(self, fit: Fit) -> Fit | None:
        """The first of these that is better: all promising changes, the best of them, updates, merges with updates."""
        for better in self._options(fit):
            more = max(0, len(better.model) - len(fit.model))
            if better.free_energy - fit.free_energy > (more + PROGRESS) * self._least_gain:
                return better
        return None

    def _options(self, fit: Fit) -> Iterator[Fit]:
        changes = self._promising(fit)
        if changes:
            yield self._changed(fit, changes)
            yield self._changed(fit, changes[:1])
        yield self.update(fit.model)
        for merge in _disjoint(self._merges(fit), REFINED):
            yield self.update(self._changed(fit, [merge]).model)

    def _changed(self, fit: Fit, changes: list[Change]) -> Fit:
        """The fit after some changes and an update."""
        gone = [k for change in changes for k in change.gone]
        kept = fit.model.taking(np.delete(np.arange(len(fit.model)), gone))
        return self.step(kept.adding([change.new for change in changes]))

    # ---- updates ---------------------------------------------------------------------------------

    def update(self, model: Model, ease: float = 1.0) -> Fit:
        """Updates (eq. 3.18-3.22) until they gain less than `ease` times the least gain."""
        fit = self.step(model)
        while True:
            last = fit
            fit = self.step(last.model)
            if not fit.free_energy - last.free_energy > ease * self._least_gain:  # also true for NaN
                kept = fit.model.counts >= EMPTY * self._items.counts.min(initial=np.inf)
                return fit if kept.all() or not kept.any() else self.step(fit.model.taking(kept))

    def step(self, model: Model) -> Fit:
        """One update of all assignments, then of topics, proportions and alpha."""
        logs = model.proportions.expected_logs
        slopes, offsets = model.family.expected_log_likelihood(model.counts, model.sums)
        found, shares = self._items.assign((slopes, offsets), logs)
        by_group = self._items.by_group(shares)
        entropy = found.likelihood - np.einsum("kp,kp->", slopes, found.sums) - found.counts @ offsets
        entropy -= np.einsum("sk,sk->", by_group, logs)
        proportions = replace(model.proportions, counts=by_group).fitted()
        family = model.family.fitted(found.counts, found.sums)
        after = Model(family, found.counts, found.sums, proportions, model.failed)
        return Fit(after, shares, float(after.evidence.sum() + proportions.log_evidence + entropy))

    # ---- splits and merges -----------------------------------------------------------------------

    def _promising(self, fit: Fit) -> list[Change]:
        """Splits that gain or, if there are none, merges: the best first, each topic in one of them."""
        if not len(self._items):  # documents without words
            return []
        model = fit.model
        untried = np.flatnonzero(np.abs(model.failed - model.counts) >= UNCHANGED * model.counts)
        model.failed[untried] = model.counts[untried]
        splits = _disjoint(self._splits(fit, untried.tolist()), self._max_topics - len(model))
        return splits or _disjoint([merge for merge in self._merges(fit) if merge.gain > 0], len(model))

    def _splits(self, fit: Fit, topics: list[int]) -> list[Change]:
        """Splits of topics that gain, each along the first direction in which it does."""
        found = dict[int, Change]()
        for direction in range(fit.model.family.n_directions + 1):
            splits = TopicSplits(self._items, fit.model, fit.shares, [k for k in topics if k not in found])
            if len(splits):
                for k, halves, gain in splits.halves(splits.along(direction), LOCAL_STEPS):
                    if gain > self._least_gain:
                        found[k] = Change([k], halves, gain)
        return list(found.values())

    def _merges(self, fit: Fit) -> list[Change]:
        """The most promising merges of two topics: those with the largest gains, but for the entropy lost."""
        if len(fit.model) < 2:
            return []
        pairs = np.unique(np.concatenate([self._overlapping(fit), _near(fit.model)]), axis=0)
        bounds = _bounds_of_merges(fit.model, pairs)
        best = np.argsort(-bounds, kind="stable")[:CANDIDATES]
        return [self._merge(fit, *pairs[at]) for at in best]

    def _overlapping(self, fit: Fit) -> np.ndarray:
        """Pairs of topics that share most items: the cosines of their assignments, as in ueda2000."""
        overlaps = (fit.shares / self._items.counts[:, None]).T @ fit.shares
        lengths = np.sqrt(np.diagonal(overlaps))
        first, second = np.triu_indices(len(overlaps), 1)
        cosines = overlaps[first, second] / (lengths[first] * lengths[second])
        best = np.argsort(-cosines, kind="stable")[:CANDIDATES]
        return np.stack([first[best], second[best]], axis=1)

    def _merge(self, fit: Fit, i: int, j: int) -> Change:
        """Two topics added up."""
        pair = fit.model.taking([i, j])
        both = pair.added_up()
        one, two = (fit.shares[:, k] / self._items.counts for k in (i, j))
        lost = self._items.counts @ (entr(one) + entr(two) - entr(one + two))
        return Change([i, j], both, float(both.score - pair.score - lost))


def _disjoint(changes: list[Change], most: int) -> list[Change]:
    """The best changes, at most this many, with each topic in one of them."""
    found, used = list[Change](), set[int]()
    for change in sorted(changes, key=lambda change: -change.gain):
        if used.isdisjoint(change.gone) and len(found) < most:
            used.update(change.gone)
            found.append(change)
    return found


def _near(model: Model) -> np.ndarray:
    """Pairs of each topic with those under which its items are most likely."""
    slopes, offsets = model.family.expected_log_likelihood(model.counts, model.sums)
    scores = model.sums / model.counts[:, None] @ slopes.T + offsets
    return nearest_pairs(scores, NEAREST)


def _bounds_of_merges(model: Model, pairs: np.ndarray) -> np.ndarray:
    """Gains in free energy by merging pairs of topics, but for the entropy of assignments that is lost."""
    known = model.proportions
    own = model.evidence + known.log_evidence_of(known.counts, known.alpha)
    both = model.family.log_evidence(model.counts[pairs].sum(axis=1), model.sums[pairs].sum(axis=1))
    both += known.log_evidence_of(known.counts[:, pairs].sum(axis=2), known.alpha[pairs].sum(axis=1))
    return both - own[pairs].sum(axis=1)
