"""Two-round selection: every shard selects, then rows are selected among all that the shards have chosen.

mirzasoleiman2013 (GreeDi). There, both rounds are greedy; here the first one is the selector's own, which reads a
stream of any length, and the second one is greedy and then swaps. The result is the best of the second round, the
merged shards and the best shard alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.cluster import ExemplarClustering
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.distribute import tasks
from modicum.distribute.fitting import FIRST_ROWS, Job, Shard, check, connected, few, first_rows
from modicum.distribute.progress import Show, shown
from modicum.numeric.hoeffding import hoeffding_error, log_of_doubt
from modicum.rows import BufferedRows, n_rows, take
from modicum.select import OnlineGreedy, StreamGreedy
from modicum.select.guarantees import TwoRoundGuarantee
from modicum.select.objectives.named import as_objective
from modicum.streams import stream

SELECTORS = (ExemplarClustering, OnlineGreedy, StreamGreedy)
DEALT = "rows were dealt to the shards at random"
QUIET = "in every shard, no row that is not kept gains more by a swap than those that are"
MOST_IN_UNION = 4_096  # rows whose log-determinant is computed for the guarantee


def select(
    selector: Learner,
    source: Any,
    client: Any = None,
    n_shards: int | None = None,
    fan_in: int = 8,
    progress: bool | Show = True,
    *,
    folder: Any = None,
    **reading: Any,
) -> "Selected":
    """Rows selected in two rounds on a Dask cluster: in each shard, then among all that the shards have chosen.

    A kernel whose width is found from rows finds it once, from rows all over the source. Parameters are those of `fit`.

    Cost: that of `fit`, and the chosen rows of all shards on one worker.

    Parameters
    ----------
    selector : ExemplarClustering, OnlineGreedy or StreamGreedy
        Not changed. Its objective must be submodular: for "error", and for other selectors, use `fit`.

    Returns
    -------
    Selected
        `selector`, an ordinary learner, and `guarantee()`.
    """
    check(selector, n_shards, fan_in, reading)
    _check_selector(selector)
    with connected(client) as cluster, cluster.as_current(), shown(progress) as show:
        return _Selection(cluster, selector, source, n_shards, fan_in, folder, reading).run(show)


def _check_selector(selector: Any) -> None:
    if type(selector) not in SELECTORS:
        known = ", ".join(cls.__name__ for cls in SELECTORS)
        raise ValueError(f"distribute.select: {type(selector).__name__} has no second round; these have: {known}.")
    if isinstance(selector, StreamGreedy) and not as_objective(selector.objective).monotone_submodular:
        raise ValueError("distribute.select: two rounds are for submodular objectives. Use distribute.fit.")
    if isinstance(selector, ExemplarClustering):
        for name in ("locked", "min_distance"):
            if getattr(selector, name) is not None:
                raise ValueError(f"distribute.select: exemplars with {name} have no second round. Use distribute.fit.")


@dataclass(frozen=True)
class Selected:
    """What `select` returns.

    Attributes
    ----------
    selector : Learner
        An ordinary learner, with the rows that were chosen.
    chosen_by : str
        Which set was best: "second round", "merge" or "shard".
    """

    selector: Any
    chosen_by: str
    _shards: tuple[bytes, ...]
    _start: tasks.Start

    def picks(self) -> Picks:
        """The rows that were chosen."""
        return self.selector.picks()

    def guarantee(self, confidence: float = 0.95) -> TwoRoundGuarantee:
        """A value that no set of as many rows exceeds. Computed here, from the states of all shards.

        Where rows are judged by a validation sample, every shard judges by its own, so the bound holds if rows were
        dealt to the shards at random.
        """
        return _guarantee(self.selector, _fitted(self._start, self._shards), confidence)


class _Selection(Job):
    """One call of `select`."""

    def _cut(self, source: Any, n_shards: int) -> list[Shard]:
        shards = super()._cut(source, n_shards)
        selector: Any = self._start.learner()
        if not isinstance(selector, ExemplarClustering) and isinstance(selector._given_objective().kernel, str):
            self._start = tasks.Start.of(_with_kernel(selector, self._first_rows(shards)))
        return shards

    def _first_rows(self, shards: list[Shard]) -> Any:
        """First rows from all over the source, as they are learned."""
        if shards[0].partitions:
            rows = first_rows(self._client, [partition for shard in shards for partition in shard.partitions])
            return next(iter(stream(rows, **self._reading))).X
        pieces = [(files, piece) for shard in shards for files, own in shard.files for piece in own]
        return self._ask(tasks.first_rows, few(pieces), FIRST_ROWS)

    def run(self, show: Show) -> "Selected":
        with self._watched(show) as watch:
            states = self._learn(watch)
            merged = self._merge(states, watch)
            state, chosen_by = self._ask(second_round, self._start, merged, *states)
            shards = tuple(self._client.gather(states))
        return Selected(self._made(self._start.learner(), state), chosen_by, shards, self._start)


def _with_kernel(selector: Any, rows: Any) -> Any:
    """A selector whose kernel has a width that these rows give, so that all shards maximise the same function."""
    fitted = selector._given_objective().fitted(rows)
    changed = {"kernel": fitted.kernel} if isinstance(selector, OnlineGreedy) else {"objective": fitted}
    return selector.set_params(**changed)


# ---- the second round, on a worker -------------------------------------------------------------------


def second_round(start: tasks.Start, merged: bytes, *states: bytes) -> tuple[bytes, str]:
    """The state with the best set, and where it comes from."""
    best: Any = start.learner(merged)
    if not best._is_fitted() or vars(best).get("_buffered") is not None:  # every row is chosen
        return merged, "merge"
    shards = _fitted(start, states)
    alone = max(shards, key=_value)
    chosen_by = "merge"
    for how, chosen in (("second round", _union(shards)), ("shard", _union([alone]))):
        other: Any = start.learner(merged)
        other._choose_again(*chosen)
        if how == "second round":
            _swap(other, *chosen)
        if _value(other) > _value(best):
            best, chosen_by = other, how
    return best.to_bytes(), chosen_by


def _fitted(start: tasks.Start, states: Sequence[bytes]) -> list[Any]:
    """Shards that have seen rows: all of a shard's may have weight zero."""
    return [shard for shard in map(start.learner, states) if shard._is_fitted()]


def _value(selector: Any) -> float:
    return selector.utility_ if isinstance(selector, ExemplarClustering) else selector.value_


def _union(shards: Sequence[Any]) -> tuple[Any, np.ndarray | None, np.ndarray]:
    """Rows, targets and ids of all that shards have chosen."""
    picks = [shard.picks() for shard in shards]
    kept = BufferedRows(picks[0].rows, picks[0].targets, sum(len(one) for one in picks))
    for one in picks:
        kept.append(one.rows, one.targets, None, one.ids)
    rows, targets, _, ids = kept.contents
    return rows, targets, ids


def _swap(selector: Any, rows: Any, targets: np.ndarray | None, ids: np.ndarray) -> None:
    """Offer rows that are not chosen once more; exemplars may also be rows of the validation sample."""
    if isinstance(selector, ExemplarClustering):
        selector._refine()
        return
    new = np.flatnonzero(~selector._are_chosen(rows, ids))
    if len(new):
        selector._offer(take(rows, new), None if targets is None else targets[new], ids[new], selector.n_seen_)


# ---- the guarantee -----------------------------------------------------------------------------------


def _guarantee(selector: Any, shards: Sequence[Any], confidence: float) -> TwoRoundGuarantee:
    is_exact = not isinstance(selector, ExemplarClustering) and not selector._given_objective().needs_validation
    own = selector.guarantee() if isinstance(selector, OnlineGreedy) else selector.guarantee(confidence)
    sure = 1 - (1 - confidence) / len(shards)  # all bounds together hold with the confidence asked for
    theirs = [shard.guarantee() if isinstance(shard, OnlineGreedy) else shard.guarantee(sure) for shard in shards]
    if is_exact:
        bounds = [one.optimum_at_most for one in theirs]
        conditions = tuple(dict.fromkeys(f"in every shard, {each}" for one in theirs for each in one.conditions))
    else:
        errors = [_sampling_error(shard, selector, sure) for shard in shards]
        bounds = [one._by_theorem() + error for one, error in zip(theirs, errors, strict=True)]
        conditions = (*own.assumptions, DEALT, QUIET)
    return TwoRoundGuarantee(
        value=own.value,
        n_chosen=own.n_chosen,
        ceiling=own.ceiling,
        epsilon=own.epsilon,
        confidence=1.0 if is_exact else confidence,
        assumptions=own.assumptions,
        conditions=conditions,
        n_shards=len(shards),
        of_shards=sum(bounds),
        of_union=_of_union(shards, theirs, own.n_chosen) if is_exact else np.inf,
    )


def _sampling_error(shard: Any, selector: Any, confidence: float) -> float:
    """The error of the validation sample of a shard, as a sample of all rows, on the values of all sets together."""
    is_clustering = isinstance(shard, ExemplarClustering)
    most = shard._bounds().largest_utility if is_clustering else shard._largest_own
    n_chosen, n_seen = selector._objective.n_chosen, selector.n_seen_
    log_sets = n_chosen * np.log1p(n_seen + n_chosen)
    n = len(shard._sample)
    error = hoeffding_error(n, most, log_of_doubt(confidence) + log_sets, population=max(n_seen, n))
    return error + (n_chosen * most / n_seen if is_clustering else 0.0)  # rows judge themselves on the stream


def _of_union(shards: Sequence[Any], theirs: Sequence[Any], n_chosen: int) -> float:
    """F of all that shards have chosen and what rows that they have refused can add; infinite if these are too many."""
    rows, _, _ = _union(shards)
    if n_rows(rows) > MOST_IN_UNION:
        return np.inf
    F = shards[0]._set()
    gain = max((one._by_theorem() - one.value) / one.n_chosen for one in theirs)
    return float(np.linalg.slogdet(np.eye(n_rows(rows)) + F.kernel(rows, rows) / F.regularization)[1]) + n_chosen * gain
