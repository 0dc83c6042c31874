"""What a fit found, as plain numbers and texts: pages show it without a learner."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from modicum.crowd.learner import CrowdLearner
from modicum.crowd.workers import RANDOM, reliabilities
from modicum.plot.agreement import Agreement
from modicum.plot.crowd import cluster_middles, principal_directions, sureness
from modicum.plot.limits import usual_range
from modicum.plot.maps import spread_colours

DIGITS = 3
HUES = 8  # of groups, in base.css
GOLDEN = np.pi * (3 - np.sqrt(5))  # turn between neighbours, as of the seeds of a sunflower
SUNFLOWER = 0.04  # radius of a cluster whose items have the same place, as a share of the map


def findings_of(learner: CrowdLearner) -> dict[str, Any]:
    """All that pages show of a fitted learner, ready for JSON.

    - model: what was fitted; n_clusters; shown: the share of the variance of the items that the map has
    - hues: of each cluster, a number below 8; if there are more clusters, those of one hue are far apart
    - items: name, x and y from 0 to 1, cluster, and how sure it is
    - workers: name, n_answers, reliability, kind, lumps, splits and confusion, clusters in order
    - agreement: names of up to 100 workers, school after school; their schools, and a matrix of correlations
    """
    positions, shown = _positions(learner)
    return {
        "model": _model(learner),
        "n_clusters": int(learner.n_clusters_),
        "shown": _round(shown),
        "hues": _hues(learner, positions),
        "items": _items(learner, positions),
        "workers": _workers(learner),
        "agreement": _agreement(learner),
    }


def _model(learner: Any) -> dict[str, Any]:
    """Which model was fitted; of a factorization, what only embeddings have is None."""
    found = {"kind": type(learner).__name__, "n_labels": int(learner.n_seen_)}
    names = {"n_dims": "n_dims_", "workers": "workers_model_", "slip_rate": "slip_rate_"}
    return found | {name: getattr(learner, attribute, None) for name, attribute in names.items()}


def _hues(learner: Any, positions: np.ndarray) -> list[int]:
    n = learner.n_clusters_
    return list(range(n)) if n <= HUES else spread_colours(cluster_middles(learner, positions), HUES).tolist()


# ---- items -----------------------------------------------------------------------------------------------


def _items(learner: Any, positions: np.ndarray) -> list[dict[str, Any]]:
    columns = learner.items_.tolist(), positions.tolist(), learner.clusters_.tolist(), sureness(learner).tolist()
    return [
        {"name": str(name), "x": _round(x, 4), "y": _round(y, 4), "cluster": cluster, "sure": _round(sure)}
        for name, (x, y), cluster, sure in zip(*columns, strict=True)
    ]


def _positions(learner: Any) -> tuple[np.ndarray, float]:
    """Places of items on a map, from 0 to 1 with one scale for both axes, and the share of the variance that it shows.

    Learners without an embedding have the items of a cluster around one place, by their memberships.
    """
    if hasattr(learner, "embedding_"):
        positions, shares = principal_directions(learner)
        return _in_square(positions[:, :2]), float(shares[:2].sum())
    positions, shares = principal_directions(SimpleNamespace(embedding_=learner.cluster_proba_))
    return _in_square(_spread(_in_square(positions[:, :2]), learner.clusters_)), float(shares[:2].sum())


def _in_square(positions: np.ndarray) -> np.ndarray:
    """Positions scaled into the unit square, the shorter axis in its middle; a few far ones are moved to its border."""
    low, high = np.array([usual_range(column) for column in positions.T]).T
    kept = np.clip(positions, low, high)
    low, high = kept.min(axis=0), kept.max(axis=0)
    side = max(float((high - low).max()), 1e-12)
    return np.clip((kept - (low + high) / 2) / side + 0.5, 0.0, 1.0)


def _spread(positions: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Positions of which those of one cluster are moved apart, on a spiral."""
    rank = np.empty(len(clusters))
    for k in np.unique(clusters):
        members = np.flatnonzero(clusters == k)
        rank[members] = np.arange(len(members))
    radius = SUNFLOWER * np.sqrt(rank / max(rank.max(), 1.0) * len(clusters) / 10)
    return positions + radius[:, None] * np.column_stack([np.cos(GOLDEN * rank), np.sin(GOLDEN * rank)])


# ---- workers ---------------------------------------------------------------------------------------------


def _workers(learner: Any) -> list[dict[str, Any]]:
    n = learner.n_clusters_
    confusions = np.array([learner.confusion_[name][:n, :n] for name in learner.workers_.tolist()])
    known = learner.worker_summary() if hasattr(learner, "worker_summary") else _summary(learner, confusions)
    return [
        {
            "name": str(name),
            "n_answers": None if n_answers is None else int(n_answers),
            "reliability": _round(reliability),
            "kind": str(kind),
            "lumps": [[int(a), int(b)] for a, b in lumps],
            "splits": [int(k) for k in splits],
            "confusion": np.nan_to_num(confusion).round(DIGITS).tolist(),
        }
        for name, n_answers, reliability, kind, lumps, splits, confusion in zip(
            *(known[name] for name in ("worker", "n_answers", "reliability", "kind", "lumps", "splits")),
            confusions,
            strict=True,
        )
    ]


def _summary(learner: Any, confusions: np.ndarray) -> dict[str, Any]:
    """What `worker_summary` of a clustering has, for learners that have none."""
    reliability = reliabilities(confusions, np.bincount(learner.clusters_, minlength=learner.n_clusters_))
    return {
        "worker": learner.workers_.tolist(),
        "n_answers": [None] * len(confusions),
        "reliability": reliability,
        "kind": np.where(reliability < -RANDOM, "adversarial", np.where(reliability < RANDOM, "random", "usual")),
        "lumps": [np.argwhere(np.triu(own > 0.5, 1)).tolist() for own in confusions],
        "splits": [np.flatnonzero(np.diag(own) < 0.5).tolist() for own in confusions],
    }


def _agreement(learner: Any) -> dict[str, Any]:
    found = Agreement.of(learner)
    return {
        "workers": [str(name) for name in found.workers.tolist()],
        "schools": found.schools.tolist(),
        "matrix": found.matrix.round(2).tolist(),
    }


def _round(value: float, digits: int = DIGITS) -> float:
    """A number of few digits; 0 if it is none."""
    return round(float(np.nan_to_num(value)), digits)
