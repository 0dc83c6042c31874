"""Write the golden files of this version: `python tests/golden/make.py`. Run once per release, then commit."""

import json
from pathlib import Path

import numpy as np

import modicum

rng = np.random.default_rng(0)
X = (rng.normal(size=(300, 3)) + 8 * rng.integers(-1, 2, size=(300, 1))).round(3)
for learner in (
    modicum.ExemplarClustering(3, budget=40, random_state=0),
    modicum.OnlineKMeans(3),
    modicum.Reservoir(20, random_state=0),
):
    learner.partial_fit(X[:200]).partial_fit(X[200:])
    name = f"{type(learner).__name__}-{modicum.__version__}"
    learner.save(Path(__file__).parent / f"{name}.mcm")
    facts = {"class": type(learner).__name__, "n_seen": 300, "rows": X[:20].tolist()}
    if hasattr(learner, "predict"):
        facts["prediction"] = learner.predict(X[:20]).tolist()
    (Path(__file__).parent / f"{name}.json").write_text(json.dumps(facts))
