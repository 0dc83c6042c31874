"""Write the golden files of this version that are not there yet: `make derived`. To write one anew, delete it first."""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

import modicum

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from learners import LEARNERS, seeded  # noqa: E402 (the folder of the tests is not on the path of a script)


def main() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 3)) + 8 * rng.integers(-1, 2, size=(300, 1))).round(3)
    y, labels = np.sin(X[:, 0]), np.where(X[:, 0] > 0, "right", "left")
    for learners in LEARNERS.values():
        learner = seeded(learners[0])
        path = HERE / f"{type(learner).__name__}-{modicum.__version__}.mcm"
        if path.exists():
            continue
        target = labels if is_classifier(learner) else y if learner.__sklearn_tags__().target_tags.required else None
        for part in (slice(0, 200), slice(200, 300)):
            learner.partial_fit(X[part], None if target is None else target[part])
        learner.save(path)
        facts = {"class": type(learner).__name__, "n_seen": 300, "rows": X[:20].tolist()}
        if target is not None:
            facts["targets"] = target[:20].tolist()
        if hasattr(learner, "predict"):
            facts["prediction"] = learner.predict(X[:20]).tolist()
        path.with_suffix(".json").write_text(json.dumps(facts))


if __name__ == "__main__":  # collecting doctests imports this file, and must not write anything
    main()
