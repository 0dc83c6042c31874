"""Write the golden files of this version: `python tests/golden/make.py`. Run once per release, then commit."""

import json
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

import modicum


def main() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 3)) + 8 * rng.integers(-1, 2, size=(300, 1))).round(3)
    y, labels = np.sin(X[:, 0]), np.where(X[:, 0] > 0, "right", "left")
    for learner in (
        modicum.BlockGreedy(12, block_size=4, random_state=0),
        modicum.ExemplarClustering(3, budget=40, random_state=0),
        modicum.KMeansCoreset(20, 3, random_state=0),
        modicum.KRLS(10, random_state=0),
        modicum.MemoryBoundedMixture(budget=60),
        modicum.MixtureCoreset(20, 3, random_state=0),
        modicum.OnlineGreedy(10, random_state=0),
        modicum.OnlineKMeans(3, random_state=0),
        modicum.PrototypeRegressor(modicum.OnlineGreedy(10, random_state=0), sample=50, random_state=0),
        modicum.Reservoir(20, random_state=0),
        modicum.SieveStreaming(4, epsilon=0.4, random_state=0),
        modicum.SieveStreamingPlusPlus(4, epsilon=0.4, random_state=0),
        modicum.SparseGPRegressor(6, budget=50, random_state=0),
        modicum.StreamGaussianMixture(3, size=20, random_state=0),
        modicum.StreamKMeans(3, size=20, random_state=0),
        modicum.StreamSVC(random_state=0),
        modicum.StreamGreedy(8, objective="variance", validation=30, random_state=0),
        modicum.ThreeSieves(5, patience=20, random_state=0),
    ):
        target = labels if is_classifier(learner) else y if learner.__sklearn_tags__().target_tags.required else None
        for part in (slice(0, 200), slice(200, 300)):
            learner.partial_fit(X[part], None if target is None else target[part])
        name = f"{type(learner).__name__}-{modicum.__version__}"
        learner.save(Path(__file__).parent / f"{name}.mcm")
        facts = {"class": type(learner).__name__, "n_seen": 300, "rows": X[:20].tolist()}
        if target is not None:
            facts["targets"] = target[:20].tolist()
        if hasattr(learner, "predict"):
            facts["prediction"] = learner.predict(X[:20]).tolist()
        (Path(__file__).parent / f"{name}.json").write_text(json.dumps(facts))


if __name__ == "__main__":  # collecting doctests imports this file, and must not write anything
    main()
