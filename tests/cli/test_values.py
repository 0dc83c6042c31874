"""Option texts become parameters, and what can't is told in one line."""

import numpy as np
import pytest

from modicum import (
    BlockGreedy,
    ExemplarClustering,
    OnlineGreedy,
    PrototypeRegressor,
    Reservoir,
    StreamGreedy,
    StreamSVC,
)
from modicum.cli.objectives import AIMS, make_learner
from modicum.cli.options import how_many
from modicum.cli.values import called, command_name, parameter
from modicum.kernels import RBF, Hamming, Linear, Polynomial
from modicum.select.objectives.logdet import LogDet


@pytest.mark.parametrize(
    ("cls", "name", "text", "value"),
    [
        (OnlineGreedy, "budget", "200", 200),
        (OnlineGreedy, "budget", "64 MiB", "64 MiB"),
        (OnlineGreedy, "min_gain", "1e-4", 1e-4),
        (OnlineGreedy, "n_prototypes", "none", None),
        (StreamSVC, "fit_intercept", "false", False),
        (StreamSVC, "fit_intercept", "True", True),
        (StreamSVC, "fit_intercept", "perhaps", "perhaps"),  # the learner refuses it in its own words
        (OnlineGreedy, "kernel", "matern52", "matern52"),
        (OnlineGreedy, "kernel", "rbf(0.5)", RBF(0.5)),
        (OnlineGreedy, "kernel", "rbf([0.5, 2])", RBF([0.5, 2.0])),
        (OnlineGreedy, "kernel", "polynomial(degree=3)", Polynomial(degree=3)),
        (OnlineGreedy, "kernel", "2 * rbf(0.5) + linear()", 2.0 * RBF(0.5) + Linear()),
        (OnlineGreedy, "budget", "1,000", "1,000"),  # no list where none is taken
        (StreamSVC, "C", "auto", "auto"),
        (StreamSVC, "C", "10", 10),
        (StreamSVC, "C", "0.1, 1,10", [0.1, 1.0, 10.0]),
        (StreamSVC, "C", "[0.1, 1]", [0.1, 1]),
        (StreamSVC, "ellipsoid", "none", None),
        (StreamSVC, "center", "true", True),
        (StreamSVC, "class_weight", "{'spam': 2.5, 'ham': 1}", {"spam": 2.5, "ham": 1}),
        (ExemplarClustering, "phantom", "far", "far"),
        (StreamGreedy, "objective", "logdet", "logdet"),
    ],
)
def test_values(cls, name, text, value):
    got = parameter(cls, name, text)
    assert type(got) is type(value)
    assert got == value


def test_files_of_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3))
    given = parameter(ExemplarClustering, "locked", str(tmp_path / "rows.npy"))
    assert len(given) == 3
    np.testing.assert_array_equal(given.read(), np.eye(3))


def test_calls_within_calls():
    selector = parameter(PrototypeRegressor, "selector", "block-greedy(500, block_size=25, kernel=hamming(5))")
    assert isinstance(selector, BlockGreedy)
    assert (selector.n_prototypes, selector.block_size, selector.kernel) == (500, 25, Hamming(5.0))
    objective = parameter(StreamGreedy, "objective", "logdet(rbf-ard, regularization=0.1)")
    assert isinstance(objective, LogDet)
    assert (objective.kernel, objective.regularization) == ("rbf-ard", 0.1)


def test_a_bare_name_makes_what_the_learner_can_not():
    assert isinstance(parameter(PrototypeRegressor, "selector", "online-greedy"), OnlineGreedy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rbff(0.5)", "there is no 'rbff'; there are rbf,"),
        ("rbf(-1)", "RBF: width must be a number above 0"),
        ("rbf(1, 2, 3)", "positional"),
        ("rbf(open('x'))", "there is no 'open'"),
        ("rbf(().__class__)", "malformed"),
        ("rbf(*[1])", "malformed"),
        ("online-greedy(size=3)", "unexpected keyword"),
        ("2 ** rbf(0.5)", "malformed"),
        ("online-greedy() + linear()", "unsupported operand"),
    ],
)
def test_calls_that_make_nothing(text, words):
    with pytest.raises(ValueError, match=r"can't be made") as told:
        called(text)
    assert words in str(told.value)


def test_lists_and_dicts_hold_nothing_that_runs():
    with pytest.raises(ValueError, match="can't be read"):
        parameter(StreamSVC, "class_weight", "{1: open('x')}")
    assert parameter(StreamSVC, "class_weight", "{'spam': 2") == "{'spam': 2"  # the learner refuses it in its own words


def test_names_of_commands():
    names = {"KRLS": "krls", "OnlineKMeans": "online-kmeans", "SparseGPRegressor": "sparse-gp-regressor"}
    for name, command in names.items():
        assert command_name(name) == command


def test_k_is_how_many():
    learners = (ExemplarClustering, OnlineGreedy, Reservoir, StreamSVC)
    assert [how_many(cls) for cls in learners] == ["n_exemplars", "n_prototypes", "budget", ""]
    assert make_learner("logdet", {"n_exemplars": "7"}, None).n_prototypes == 7
    assert make_learner("exemplar", {"n_exemplars": "7", "budget": "90"}, None).budget == 90


def test_every_objective_makes_its_learner():
    for name, aim in AIMS.items():
        learner = make_learner(name, {"n_exemplars": "7", "budget": "1 MiB"}, "y")
        assert type(learner) is aim.learner
        assert learner.budget == "1 MiB"
        learner._check_params()


def test_objectives_take_their_own_parameters():
    learner = make_learner("variance", {"kernel": "rbf(0.5)", "noise": "0.01", "n_validation": "50"}, None)
    assert (learner.objective.kernel, learner.objective.noise, learner.n_validation) == (RBF(0.5), 0.01, 50)


@pytest.mark.parametrize(
    ("objective", "given", "target", "words"),
    [
        ("entropy", {}, None, "--objective is one of exemplar, logdet, "),
        ("error", {}, None, "needs --target"),
        ("logdet", {"dissimilarity": "cosine"}, None, "--dissimilarity is not for --objective logdet, which takes"),
        ("exemplar", {"kernel": "rbf"}, None, "which takes --n-exemplars, --budget, --n-validation"),
        (
            "logdet",
            {"n_exemplars": "3", "n_prototypes": "4"},
            None,
            "-k, the number of rows, or --n-prototypes; not both",
        ),
    ],
)
def test_wrong_options_are_named(objective, given, target, words):
    with pytest.raises(ValueError) as told:
        make_learner(objective, given, target)
    assert words in str(told.value)
