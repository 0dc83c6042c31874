"""Search for topics: updates, splits and merges (gomes2008topics, section 3.5.1; candidates ranked as in ueda2000).

Every update raises the free energy, a lower bound of the log-evidence (eq. 3.29 with the opposite sign). A split
divides the items of one topic between two and leaves all others as they are; a merge adds two topics up. So the gains
of several splits and merges of different topics add up, and all that are worth it are made together: a topic must
raise the free energy by the least gain.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr, expit, xlogy

from modicum._jit.groups import add_to_groups
from modicum.clumps.pairs import nearest_pairs
from modicum.families import Family
from modicum.topics.grouped_items import GroupedItems
from modicum.topics.proportions import LEAST_ALPHA, Proportions
from modicum.topics.topics import Topics

CANDIDATES = 10  # splits, and merges, that are tried at a time, as in the paper
LOCAL_STEPS = 10  # updates of two halves alone, before their gain is computed
MEMBER = 0.01  # items with a smaller share in a topic do not take part in its split
NEAREST = 5  # other topics that a topic may be merged with, beside those that share most items
PROGRESS = 0.1  # of the least gain: changes must be worth more, or the search ends
COARSE = 10  # times the tolerance, for updates between splits
UNCHANGED = 0.05  # after a failed split, a topic is tried again once its count has changed by more than this
EMPTY = 1e-3  # of the lightest item: topics with a smaller count are removed
FIRST_ALPHA = 1.0  # of the only topic that a search starts with
ONE_GROUP = np.zeros(1, np.intp)  # the first item of the only group


@dataclass(frozen=True)
class Model:
    """Posterior of topics: counts and sums of statistics (eq. 3.18, 3.19), and of the proportions of groups."""

    family: Family
    counts: np.ndarray
    sums: np.ndarray
    proportions: Proportions
    failed: np.ndarray  # the count of each topic when a split of it last failed, else 0

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def topics(self) -> Topics:
        """The topics alone."""
        return Topics(self.family, self.counts, self.sums, self.proportions.alpha)

    @property
    def evidence(self) -> np.ndarray:
        """log p(items of each topic)."""
        return self.family.log_evidence(self.counts, self.sums)

    def taking(self, which: Any) -> "Model":
        """The topics in `which`, in that order."""
        known = self.proportions
        proportions = replace(known, counts=known.counts[:, which], alpha=known.alpha[which])
        return Model(self.family, self.counts[which], self.sums[which], proportions, self.failed[which])

    def adding(self, others: list["Model"]) -> "Model":
        """These topics, and after them those of other models of the same groups."""
        models = [self, *others]
        counts = np.concatenate([model.proportions.counts for model in models], axis=1)
        alpha = np.concatenate([model.proportions.alpha for model in models])
        return Model(
            self.family,
            np.concatenate([model.counts for model in models]),
            np.concatenate([model.sums for model in models]),
            replace(self.proportions, counts=counts, alpha=alpha),
            np.concatenate([model.failed for model in models]),
        )

    def added_up(self) -> "Model":
        """One topic instead of all."""
        known = self.proportions
        proportions = replace(
            known, counts=known.counts.sum(axis=1, keepdims=True), alpha=known.alpha.sum(keepdims=True)
        )
        counts, sums = self.counts.sum(keepdims=True), self.sums.sum(axis=0, keepdims=True)
        return Model(self.family, counts, sums, proportions, np.zeros(1))

    @property
    def score(self) -> float:
        """The part of the free energy that topics have of their own: all but the entropy of assignments."""
        known = self.proportions
        return float(self.evidence.sum() + known.log_evidence_of(known.counts, known.alpha).sum())


@dataclass(frozen=True)
class Fit:
    """A model after an update, the items of each topic (N_c q_ck) and the free energy."""

    model: Model
    shares: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Change:
    """Topics that others replace, and the gain: in free energy, less what more topics must raise it by."""

    gone: list[int]
    new: Model
    gain: float


@dataclass(frozen=True)
class Members:
    """Items of one topic: their counts in it, mean statistics, and shares of groups of documents."""

    weights: np.ndarray
    averages: Any
    groups: Any

    def directions(self, family: Family) -> Iterator[np.ndarray]:
        """Projections of items on principal directions: of items, then of the means of documents."""
        yield from family.projections(self.weights, self.averages, ONE_GROUP).T
        counts = self.groups.T @ self.weights
        there = np.flatnonzero(counts)
        if len(there) > 1:
            groups = self.groups[:, there].T.multiply(self.weights).tocsr()
            means = sparse.diags(1 / counts[there]) @ (groups @ self.averages)
            along = family.projections(counts[there], means, ONE_GROUP)[:, 0]
            yield self.groups[:, there] @ along

    def divided(self, whole: Model, part: np.ndarray) -> Model:
        """Two topics instead of one; `part` of each item belongs to the first."""
        both = np.stack([self.weights * part, self.weights * (1 - part)], axis=1)
        counts = both.sum(axis=0)
        alpha = np.maximum(whole.proportions.alpha * counts / counts.sum(), LEAST_ALPHA)
        by_group = np.zeros((len(whole.proportions.sizes), 2))
        add_to_groups(self.groups.indptr, self.groups.indices, self.groups.data, both, by_group)
        proportions = Proportions(whole.proportions.sizes, by_group, alpha)
        return Model(whole.family, counts, both.T @ self.averages, proportions, np.zeros(2))

    def difference(self, halves: Model) -> np.ndarray:
        """Log-odds of the first of two topics, for each item (eq. 3.21)."""
        slopes, offsets = halves.family.expected_log_likelihood(halves.counts, halves.sums)
        logs = halves.proportions.expected_logs
        of_items = self.averages @ (slopes[0] - slopes[1]) + (offsets[0] - offsets[1])
        return of_items + self.groups @ (logs[:, 0] - logs[:, 1])


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
        while True:
            changes = self._promising(fit)
            better = self._changed(fit, changes) or self._changed(fit, changes[:1])
            if better is None:
                return self.update(fit.model)
            fit = better

    def _changed(self, fit: Fit, changes: list[Change]) -> Fit | None:
        """The fit after some changes; None if it gains too little."""
        if not changes:
            return None
        gone = [k for change in changes for k in change.gone]
        kept = fit.model.taking(np.delete(np.arange(len(fit.model)), gone))
        better = self.update(kept.adding([change.new for change in changes]), COARSE)
        return better if self._worth(better) - self._worth(fit) > PROGRESS * self._least_gain else None

    def _worth(self, fit: Fit) -> float:
        """The free energy, less what all topics must raise it by."""
        return fit.free_energy - self._least_gain * len(fit.model)

    # ---- updates ---------------------------------------------------------------------------------

    def update(self, model: Model, ease: float = 1.0) -> Fit:
        """Updates (eq. 3.18-3.22) until they gain less than `ease` times the least gain."""
        fit = self.step(model)
        while True:
            last = fit
            fit = self.step(last.model)
            if not fit.free_energy - last.free_energy >= ease * self._least_gain:  # also true for NaN
                kept = fit.model.counts >= EMPTY * self._items.counts.min()
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
        """Changes that gain, the best first, each topic in one of them."""
        worst, changes = self._worst_topics(fit), list[Change]()
        for first in range(0, len(worst), CANDIDATES):
            tried = worst[first : first + CANDIDATES]
            changes = [split for split in map(partial(self._split, fit), tried) if split is not None]
            fit.model.failed[tried] = fit.model.counts[tried]
            if changes:
                break
        changes += self._merges(fit)
        found: list[Change] = []
        room, used = self._max_topics - len(fit.model), set[int]()
        for change in sorted((one for one in changes if one.gain > 0), key=lambda one: -one.gain):
            more = len(change.new) - len(change.gone)
            if used.isdisjoint(change.gone) and more <= room:
                used.update(change.gone)
                found.append(change)
                room -= more
        return found

    def _worst_topics(self, fit: Fit) -> list[int]:
        """Topics whose items are farthest from their density: the divergence of the one from the other."""
        model, counts = fit.model, fit.model.counts
        slopes, offsets = model.family.expected_log_likelihood(counts, model.sums)
        likelihood = np.einsum("kp,kp->k", slopes, model.sums) / counts + offsets
        logs = xlogy(fit.shares, fit.shares / self._items.counts[:, None]).sum(axis=0) / counts
        order = np.argsort(likelihood - logs + np.log(counts), kind="stable")
        is_new = np.abs(model.failed - counts) >= UNCHANGED * counts
        return order[is_new[order]].tolist()

    def _split(self, fit: Fit, k: int) -> Change | None:
        """A topic split along the first direction that gains enough."""
        which = np.flatnonzero(fit.shares[:, k] > MEMBER * self._items.counts)
        if len(which) < 2:
            return None
        members = Members(fit.shares[which, k], self._items.averages(which), self._items.shares_of_groups(which))
        for along in members.directions(fit.model.family):
            change = self._halves(fit, k, members, along > 0)
            if change is not None and change.gain > 0:
                return change
        return None

    def _halves(self, fit: Fit, k: int, members: Members, first: np.ndarray) -> Change | None:
        """Both halves of a topic, refined by updates of these items and topics alone."""
        whole, part = fit.model.taking([k]), first.astype(np.float64)
        for _ in range(LOCAL_STEPS):
            halves = members.divided(whole, part)
            if not (halves.counts > 0).all():
                return None
            part = expit(members.difference(halves))
        halves = members.divided(whole, part)
        both = members.divided(whole, np.ones(len(first))).taking([0])
        gain = halves.score - both.score + members.weights @ (entr(part) + entr(1 - part)) - self._least_gain
        return Change([k], halves, float(gain)) if (halves.counts > 0).all() else None

    def _merges(self, fit: Fit) -> list[Change]:
        """The most promising merges of two topics: those with the largest gains, but for the entropy lost."""
        if len(fit.model) < 2:
            return []
        pairs = np.unique(np.concatenate([self._overlapping(fit), _near(fit.model)]), axis=0)
        bounds = _bounds_of_merges(fit.model, pairs)
        best = np.argsort(-bounds, kind="stable")[:CANDIDATES]
        return [self._merge(fit, *pairs[at]) for at in best]

    def _overlapping(self, fit: Fit) -> np.ndarray:
        """Pairs of topics that share most items: the cosines of their assignments."""
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
        return Change([i, j], both, float(both.score - pair.score - lost + self._least_gain))


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
