"""State files of every release open with this version, answer as they did when saved, and continue to learn."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import modicum
from golden.make import crowd_facts, facts_of
from modicum.checks.common import check_answers
from modicum.state.files import unsealed
from modicum.state.packing import LEARNERS

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(params=sorted(FOLDER.glob("*.mcm")), ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def facts(path):
    return json.loads(path.with_suffix(".json").read_text())


def assert_equal(found, expected, what):
    """Equal; numbers up to rounding, as they are computed by other versions of numpy and BLAS."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), what
        for key in expected:
            assert_equal(found[key], expected[key], f"{what}, {key}")
    elif isinstance(expected, list) and np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=what)
    else:
        assert found == expected, what


def without_new_parameters(content, old):
    """The content without parameters that the old one does not have, provided that they have their defaults."""
    if isinstance(content, list) and isinstance(old, list) and len(content) == len(old):
        return [without_new_parameters(*pair) for pair in zip(content, old, strict=True)]
    if not (isinstance(content, dict) and isinstance(old, dict)):
        return content
    if content.keys() >= {"class", "params", "state"}:
        arguments = inspect.signature(LEARNERS[content["class"]]).parameters
        items, known = content["params"]["items"], old["params"]["items"]
        kept = {name: value for name, value in items.items() if name in known or value != arguments[name].default}
        content = content | {"params": content["params"] | {"items": kept}}
    return {key: without_new_parameters(value, old.get(key)) for key, value in content.items()}


def test_it_answers_as_when_it_was_saved(path, facts):
    expected = {name: value for name, value in facts.items() if name not in ("rows", "targets")}
    assert_equal(facts_of(modicum.load(path), np.array(facts["rows"])), expected, path.stem)


def test_saving_it_again_changes_nothing(path):
    """The state is the same; the version of the package may differ, and parameters that are new have their defaults."""
    (text, arrays), (old_text, old_arrays) = (
        unsealed(blob) for blob in (modicum.load(path).to_bytes(), path.read_bytes())
    )
    content, old_content = (json.loads(each)["content"] for each in (text, old_text))
    assert without_new_parameters(content, old_content) == old_content
    assert arrays.keys() == old_arrays.keys()
    for name, array in arrays.items():
        assert array.dtype == old_arrays[name].dtype, name
        assert array.tobytes() == old_arrays[name].tobytes(), name


def test_it_continues_to_learn(path, facts):
    model, rows = modicum.load(path), np.array(facts["rows"])
    model.partial_fit(rows, facts["targets"])
    assert model.n_seen_ == facts["n_seen"] + len(rows)
    assert model.n_retained_ > 0
    check_answers(model, rows)
    found = facts_of(modicum.Learner.from_bytes(model.to_bytes()), rows)
    assert_equal(found, facts_of(model, rows), path.stem)


def test_every_learner_has_one():
    classes = {json.loads(path.read_text())["class"] for path in FOLDER.glob("*.json")}
    assert classes == set(modicum.load_all_learners()) - set(modicum.CROWD)


@pytest.fixture(params=sorted((FOLDER / "crowd").glob("*.mcm")), ids=lambda path: path.stem)
def crowd_path(request):
    return request.param


def test_crowds_answer_as_they_did(crowd_path):
    model = modicum.load(crowd_path)
    assert_equal(crowd_facts(model), json.loads(crowd_path.with_suffix(".json").read_text()), crowd_path.stem)
    model.partial_fit([(0, 1, 0)], [1])
    assert model.n_seen_ == len(model._labels)


def test_every_crowd_learner_has_one():
    assert {path.stem.split("-")[0] for path in (FOLDER / "crowd").glob("*.json")} == set(modicum.CROWD)
