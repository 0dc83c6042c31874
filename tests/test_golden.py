"""State files of every release open with today's code and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import modicum

FOLDER = Path(__file__).parent / "golden"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mcm")), ids=lambda path: path.stem)
def test_old_files_open(path):
    facts = json.loads(path.with_suffix(".json").read_text())
    model = modicum.load(path)
    assert type(model).__name__ == facts["class"]
    assert model.n_seen_ == facts["n_seen"]
    rows = np.array(facts["rows"])
    if hasattr(model, "predict"):
        prediction, expected = model.predict(rows), np.array(facts["prediction"])
        assert np.array_equal(prediction, expected) or np.allclose(prediction, expected, rtol=1e-6)  # labels: exactly
    model.partial_fit(rows, facts.get("targets"))


def test_every_learner_has_one():
    classes = {json.loads(path.read_text())["class"] for path in FOLDER.glob("*.json")}
    assert classes == set(modicum.load_all_learners())
