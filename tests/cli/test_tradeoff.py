"""`modicum tradeoff`: the search, its sentence, the curves and the report."""

import json
import re

import numpy as np
import pytest

import modicum
from modicum import StreamGaussianMixture, StreamKMeans, Tram
from modicum.cli import tradeoff as cli
from modicum.cli.tradeoff import first_rows, make_tram
from modicum.tradeoff import Tradeoff


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 100, (10, 3))[rng.integers(10, size=20_000)] + rng.normal(size=(20_000, 3))
    np.save(tmp_path / "rows.npy", X)
    return X


def test_rounds_sentence_and_solution(modicum_command, rows, tmp_path):
    given = ("-k", 10, "--risk", "10%", "--n-initial", "200,50", "--random-state", 0, "--save", "s.mcm")
    done = modicum_command("tradeoff", "rows.npy", *given)
    path = [json.loads(line) for line in done.stdout.splitlines()]
    estimator = StreamKMeans(10)
    tram = Tram(estimator, "10%", n_initial=[200, 50], random_state=0).fit(modicum.stream(rows))
    for name in ("n_rows", "n_points", "n_validation", "risk", "nbytes"):
        assert [made[name] for made in path] == [getattr(made, name) for made in tram.path_]
    assert re.fullmatch(
        rf"{tram.path_[-1].n_rows:,} of 20,000 rows and .* reach 1.1 times the best risk found in .*\.\n", done.stderr
    )
    assert modicum.load(tmp_path / "s.mcm").score(rows) == pytest.approx(tram.solution_.score(rows))


def test_curves_are_kept_and_reported(modicum_command, rows, tmp_path):
    given = ("-k", 10, "--random-state", 0, "--n-points", "50,100", "--curves", "c.json")
    modicum_command("tradeoff", "rows.npy", *given, "--repeats", 1)
    first = Tradeoff.read(tmp_path / "c.json").runs
    assert {run.n_points for run in first} == {50, 100}
    done = modicum_command("tradeoff", "rows.npy", *given, "--repeats", 2, "--report", "r.html", "-o", "path.csv")
    runs = Tradeoff.read(tmp_path / "c.json").runs
    assert set(first) < set(runs)
    html = (tmp_path / "r.html").read_text()
    assert done.stderr.splitlines()[0] in html
    assert "Tradeoff curves" in html


def test_a_risk_that_no_data_can_reach(modicum_command, rows):
    done = modicum_command("tradeoff", "rows.npy", "-k", 10, "--risk", 0.5, "--random-state", 0)
    assert "No solution with risk 0.5 was found" in done.stderr


def test_parameters_go_where_they_belong():
    given = {
        "n_clusters": "7",
        "n_init": "3",
        "budget": "1 MiB",
        "time_limit": "5",
        "confidence": "0.95",
        "n_initial": None,
    }
    tram = make_tram("kmeans", "1.05x", given)
    assert (tram.estimator.n_clusters, tram.estimator.n_init, tram.estimator.budget) == (7, 3, None)
    assert (tram.risk, tram.budget, tram.time_limit, tram.confidence, tram.n_initial) == (
        "1.05x",
        "1 MiB",
        5,
        0.95,
        None,
    )


def test_mixtures():
    tram = make_tram("mixture", "3", {"n_clusters": "4", "covariance_type": "diag", "n_init": None})
    assert isinstance(tram.estimator, StreamGaussianMixture)
    assert (tram.risk, tram.estimator.n_components, tram.estimator.covariance_type) == (3, 4, "diag")
    with pytest.raises(ValueError, match="--method is not for --for mixture"):
        make_tram("mixture", "3", {"method": "uniform"})


def test_curves_take_the_first_rows_that_fit(rows, monkeypatch):
    there = modicum.stream(rows, chunk_size=1000)
    monkeypatch.setattr(cli, "CURVE_ROWS", 2500)
    np.testing.assert_array_equal(first_rows(there), rows[:2500])
    monkeypatch.setattr(cli, "CURVE_BYTES", rows[:1500].nbytes)
    assert len(first_rows(there)) == 2000


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["tradeoff", "rows.npy", "--risk", "low"], "risk must be a number, or relative to the best risk"),
        (["tradeoff", "rows.npy", "--n-points", "1,many"], "--n-points takes numbers of points such as 500,1000,2000"),
        (["tradeoff", "rows.npy", "--for", "topics"], "--for is one of kmeans"),
        (["tradeoff", "rows.npy", "--time-limit", "-1"], "time_limit"),
        (["tradeoff", "-"], "can be read only once"),
    ],
)
def test_mistakes_are_one_line(modicum_command, rows, args, words):
    done = modicum_command(*args, stdin="a,b\n1,2\n3,4\n", expect=1)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
