"""What `modicum show` says of crowd clustering."""

from collections import Counter
from typing import Any

import numpy as np

MODELS = {"matrix": "what they sort by", "reliability": "reliability"}  # what workers differ in


def crowd_numbers(learner: Any) -> dict[str, Any]:
    """Facts for programs; none about other learners."""
    if not hasattr(learner, "workers_"):
        return {}
    facts: dict[str, Any] = {
        "items": len(learner.items_),
        "workers": {"count": len(learner.workers_)} | _workers(learner),
        "clusters": {"count": learner.n_clusters_, "sizes": _sizes(learner)},
    }
    return facts | ({"bound": learner.bound_} if hasattr(learner, "bound_") else {})


def describe_crowd(learner: Any) -> dict[str, str]:
    """Facts for people; none about other learners."""
    if not hasattr(learner, "workers_"):
        return {}
    sizes, workers = _sizes(learner), _workers(learner)
    kinds = "".join(f", {n:,} {kind}" for kind, n in workers.get("kinds", {}).items() if kind != "usual")
    differ = f"; they differ in {MODELS[workers['model']]}" if "model" in workers else ""
    return {
        "rows seen": f"{learner.n_seen_:,} labels of pairs",
        "items": f"{len(learner.items_):,}",
        "workers": f"{len(learner.workers_):,}{kinds}{differ}",
        "clusters": f"{learner.n_clusters_}; largest {sizes.max():,} items, smallest {sizes.min():,}",
    }


def _sizes(learner: Any) -> np.ndarray:
    return np.bincount(learner.clusters_, minlength=learner.n_clusters_)


def _workers(learner: Any) -> dict[str, Any]:
    """How many workers are of which kind, and what model was chosen for them, if the learner has one."""
    if not hasattr(learner, "worker_summary"):
        return {}
    kinds = Counter(np.asarray(learner.worker_summary()["kind"]).tolist())
    return {"kinds": dict(kinds.most_common()), "model": learner.workers_model_}
