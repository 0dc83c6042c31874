"""Figures of tradeoffs and searches show the measured numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from modicum import StreamKMeans
from modicum.plot.style import as_svg
from modicum.plot.tradeoffs import data_time, risk_by_points, risk_time, search_path
from modicum.tradeoff.table import Run, Tradeoff
from modicum.tradeoff.tram import Tram


@pytest.fixture
def table():
    """Risks 1 + 100 / rows + 20 / points, or 1 + 100 / rows for samples; as many seconds as points."""
    cells = [("coreset", rows, points) for rows in (100, 1000, 10_000) for points in (10, 50)]
    cells += [("uniform", rows, rows) for rows in (50, 500)]
    runs = []
    for method, rows, points in cells:
        risk = 1 + 100 / rows + (20 / points if method == "coreset" else 0)
        runs += [
            Run(method, rows, points, i, points * spread, risk * spread) for i, spread in enumerate((0.9, 1.0, 1.2))
        ]
    return Tradeoff({}, runs)


def searched(rows, target, seconds, reached=True):
    return SimpleNamespace(n_rows_=rows, target_=target, seconds_=seconds, reached_=reached)


def lines_of(figure):
    return {line.get_label(): line.get_xydata() for line in figure.axes[0].lines}


def test_time_against_rows(table):
    trams = [searched(1000, 1.6, s) for s in (3.0, 4.0, 50.0)] + [
        searched(9000, 1.6, 2.0),
        searched(99, 1.6, 1.0, False),
    ]
    figure = data_time(table, 1.6, trams=trams)
    lines = lines_of(figure)
    assert list(lines) == ["oracle, coresets", "oracle, uniform samples", "TRAM"]
    np.testing.assert_allclose(lines["oracle, coresets"][:, 1], table.data_time(1.6, "coreset").seconds)
    np.testing.assert_array_equal(lines["TRAM"], [[1000, 4.0], [9000, 2.0]])
    assert "1.60" in figure.axes[0].get_ylabel()
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
    low, high = np.ptp(figure.axes[0].collections[0].get_paths()[0].vertices, axis=0)
    assert low > 0 < high  # a band of some width


def test_time_against_risk_up_to_twice_the_least(table):
    figure = risk_time(table, 1000, trams=[searched(1000, 1.7, 30.0)])
    lines = lines_of(figure)
    for method, name in (("coreset", "oracle, coresets"), ("uniform", "oracle, uniform samples")):
        curve = table.risk_time(method, 1000)
        shown = curve.x <= 2 * min(cell.risk for cell in table.cells(max_rows=1000))
        np.testing.assert_allclose(lines[name], np.c_[curve.x, curve.seconds][shown])
    np.testing.assert_array_equal(lines["TRAM"], [[1.7, 30.0]])
    assert figure.axes[0].get_ylabel() == "time with 1,000 rows"


def test_risk_against_points(table):
    figure = risk_by_points(table)
    lines = lines_of(figure)
    np.testing.assert_allclose(lines["coresets"], [[10, 3.01], [50, 1.41]])  # of all 10,000 rows
    np.testing.assert_allclose(lines["uniform samples"], [[50, 3.0], [500, 1.2]])
    assert figure.axes[0].get_xlabel() == "points chosen from 10,000 rows"


def test_negative_risks_have_a_linear_axis(table):
    below = Tradeoff({}, [run._replace(risk=run.risk - 5) for run in table.runs])
    assert risk_by_points(below).axes[0].get_yscale() == "linear"
    assert risk_time(below).axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("risk", ["2% above best", 2.1])
def test_path_of_a_search(risk, blobs):
    tram = Tram(StreamKMeans(3), risk, n_initial=(30, 10), random_state=0).fit(blobs)
    figure = search_path(tram)
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.cumsum([made.seconds for made in tram.path_]))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [made.risk for made in tram.path_])
    assert axes.lines[1].get_ydata()[0] == tram.target_
    texts = [text.get_text() for text in axes.texts]
    assert "30 rows\n10 points" in texts
    assert ("best found" in texts) == isinstance(risk, str)
    assert as_svg(figure, "path").startswith("<svg")


def test_long_paths_name_only_their_ends(blobs):
    tram = Tram(StreamKMeans(3), 1e-3, n_initial=(20, 5), growth_rows=1.3, growth_points=1.1, random_state=0).fit(blobs)
    assert len(tram.path_) > 7
    texts = [text.get_text() for text in search_path(tram).axes[0].texts]
    assert len(texts) == 3  # two rounds and the target
