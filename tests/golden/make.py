"""Write the golden files of this version that do not exist yet: `make derived`. To rewrite one, delete it first.

Each state file has a JSON file beside it: some rows, and what the learner answered for them when it was saved.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

import modicum
from modicum.checks.common import ANSWERS, takes_counts
from modicum.datasets import crowd_answers

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from learners import LEARNERS, seeded  # noqa: E402 (the folder of the tests is not on the path of a script)

N_ROWS, N_ASKED = 300, 20


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three clusters, targets for regressors, and labels for classifiers."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(N_ROWS, 3)) + 8 * rng.integers(-1, 2, size=(N_ROWS, 1))).round(3)
    return X, np.sin(X[:, 0]), np.where(X[:, 0] > 0, "right", "left")


def facts_of(learner: Any, X: np.ndarray) -> dict[str, Any]:
    """What a learner answers for rows X, and all that it says about itself, as plain data."""
    answers = {name: getattr(learner, name)(X).tolist() for name in ANSWERS if hasattr(learner, name)}
    facts = {"class": type(learner).__name__, "n_seen": learner.n_seen_, "n_retained": learner.n_retained_}
    return facts | {"answers": answers, "picks": picks_of(learner)}


def picks_of(learner: Any) -> dict[str, Any] | None:
    """The rows that a learner has chosen, as plain data."""
    picks = learner.picks()
    if picks is None:
        return None
    columns = {"rows": picks.rows, "ids": picks.ids, "weights": picks.weights, "targets": picks.targets}
    return {"kind": picks.kind} | {
        name: None if values is None else np.asarray(values).tolist() for name, values in columns.items()
    }


def write(folder: Path) -> None:
    """Write the files that are missing in a folder."""
    numbers, y, labels = data()
    for learners in LEARNERS.values():
        learner = seeded(learners[0])
        X = np.abs(numbers).round() if takes_counts(learner) else numbers
        path = folder / f"{type(learner).__name__}-{modicum.__version__}.mcm"
        if path.exists():
            continue
        target = labels if is_classifier(learner) else y if learner.__sklearn_tags__().target_tags.required else None
        for chunk in (slice(0, 200), slice(200, N_ROWS)):
            learner.partial_fit(X[chunk], None if target is None else target[chunk])
        learner.save(path)
        asked = {"rows": X[:N_ASKED].tolist(), "targets": None if target is None else target[:N_ASKED].tolist()}
        path.with_suffix(".json").write_text(json.dumps(asked | facts_of(learner, X[:N_ASKED])))


def crowd_facts(learner: Any) -> dict[str, Any]:
    """What a crowd learner says of items and workers, as plain data."""
    confusion = {str(worker): matrix.tolist() for worker, matrix in learner.confusion_.items()}
    found = {"items": learner.items_.tolist(), "clusters": learner.clusters_.tolist(), "confusion": confusion}
    return found | {"pair": learner.predict_pair(0, 1, 2)}


def write_crowds(folder: Path) -> None:
    """Write the files of crowd learners that are missing: their rows are pairs of items."""
    answers, _ = crowd_answers(24, 6, task_size=8, n_answers=36)
    for name in modicum.CROWD:
        path = folder / f"{name}-{modicum.__version__}.mcm"
        if not path.exists():
            learner = getattr(modicum, name)(n_clusters=4, random_state=0).fit_groupings(answers)
            learner.save(path)
            path.with_suffix(".json").write_text(json.dumps(crowd_facts(learner)))


if __name__ == "__main__":  # collecting doctests imports this file, and must not write anything
    write(HERE)
    write_crowds(HERE / "crowd")
