"""The page of a search shows its rounds and the measured curves."""

import re

import numpy as np
import pytest

from modicum import StreamKMeans, Tram
from modicum.plot import write_tradeoff_report
from modicum.tradeoff import tradeoff


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.uniform(0, 100, (10, 3))[rng.integers(10, size=6000)] + rng.normal(size=(6000, 3))


@pytest.fixture(scope="module")
def curves(rows):
    return tradeoff(rows, [30, 60], n_clusters=10, n_rows=[1000, 4000], repeats=2, random_state=0)


def report(path, *given, **more):
    write_tradeoff_report(path / "r.html", *given, **more)
    html = (path / "r.html").read_text("utf-8")
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(text.split()), html.count("<svg")


def test_rounds_and_curves(tmp_path, rows, curves):
    tram = Tram(StreamKMeans(10), "20% above best", n_initial=(100, 20), random_state=0).fit(rows)
    text, drawings = report(tmp_path, tram, curves, source="some rows", command="modicum tradeoff rows.npy")
    assert tram.summary() in text
    for made in tram.path_:
        assert f"{made.n_rows:,} {made.n_points:,} " in text
    for words in ("some rows", "modicum tradeoff rows.npy", "of 20 runs on a large summary", "risk 20% above best"):
        assert words in text
    assert drawings == (3 if len(tram.path_) == 1 else 4)


def test_a_search_alone(tmp_path, rows):
    tram = Tram(StreamKMeans(10), 1000.0, n_initial=(500, 100), random_state=0).fit(rows)
    text, drawings = report(tmp_path, tram)
    assert (len(tram.path_), drawings) == (1, 0)
    assert "Tradeoff curves" not in text
    assert "on a large summary" not in text


def test_a_risk_out_of_reach_has_no_curve_over_rows(tmp_path, rows, curves):
    tram = Tram(StreamKMeans(10), 0.1, n_initial=(3000, 500), random_state=0).fit(rows)
    text, drawings = report(tmp_path, tram, curves)
    assert "No solution with risk 0.1 was found" in text
    assert "rows learned" in text
    assert drawings == 3  # the path, time against risk, risk against size
