"""What a fitted RIM tells about itself: how its regularisation was chosen, whether that is sure, and its labels."""

from typing import Any

import numpy as np

from modicum.cluster.information.rule import SURE_SCORE


def how_chosen(learner: Any) -> str:
    """How the regularisation in use was found."""
    if learner.regularization != "auto":
        return "as given"
    choice = learner.choice_
    if choice is None:
        return "chosen by held-out labels"
    if "score" not in choice:
        return f"chosen to keep {learner.n_clusters} clusters"
    stability, null = (choice[name][chosen_at(learner)] for name in ("stability", "null"))
    return f"chosen by stability: {stability:.2f} between halves of the rows, {null:.2f} for rows without clusters"


def doubt(learner: Any) -> str:
    """A warning if the clusters may be those of rows without any, or of single values; otherwise nothing."""
    choice = learner.choice_
    if choice is None or "score" not in choice:
        return ""
    if choice["score"][chosen_at(learner)] < SURE_SCORE:
        return "hardly more stable than clusters of rows that have none: there may be no clusters"
    if chosen_at(learner) == 0:
        return "the weakest regularization was chosen: values that many rows share may count as clusters"
    return ""


def chosen_at(learner: Any) -> int:
    """Where on the path of `choice_` the regularisation in use is."""
    return int(np.abs(learner.choice_["regularization"] - learner.regularization_).argmin())


def known_labels(learner: Any) -> str:
    """How many rows had labels, and of what; nothing if none had."""
    if learner._labelled is None:
        return ""
    n_rows, n_classes = learner._labelled.n_seen_, len(learner._classes)
    n_new = learner.n_clusters_ - n_classes
    found = f"; {n_new:,} new cluster{'s' * (n_new != 1)}" if n_new else ""
    return f"{n_rows:,} of {learner.n_seen_:,} rows, of {n_classes:,} class{'es' * (n_classes != 1)}{found}"
