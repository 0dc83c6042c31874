"""Figures show the numbers of their learners."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox
from scipy.sparse import csr_matrix

from modicum import ExemplarClustering, OnlineGreedy, OnlineKMeans, StreamKMeans, StreamSVC
from modicum.drift import Change
from modicum.evaluate import Prequential
from modicum.kernels import Linear
from modicum.plot import (
    accuracy_over_stream,
    changes_over_stream,
    cluster_sizes,
    confusion_matrix,
    coreset_map,
    exemplar_images,
    exemplar_map,
    history_over_stream,
    interval_coverage,
    largest_weights,
    nearest_similarities,
    predicted_and_true,
    prototype_map,
    scores_over_stream,
    similarity_matrix,
    utility_over_stream,
    value_over_stream,
    weight_images,
)
from modicum.plot.classifiers import FAINT, MOST_CLASSES, accuracy_curve
from modicum.plot.images import as_pictures, data_uri
from modicum.plot.labels import place_labels
from modicum.plot.limits import usual_range
from modicum.plot.maps import spread_colours
from modicum.plot.predictions import coverage
from modicum.plot.similarities import order_by_similarity, similarities
from modicum.plot.style import as_svg, new_figure


def test_utility_and_swaps_over_the_stream(dense):
    figure = utility_over_stream(dense)
    utility, swaps = (axes.lines[0] for axes in figure.axes)
    np.testing.assert_array_equal(utility.get_xydata(), np.c_[dense.history_["n_seen"], dense.history_["utility"]])
    np.testing.assert_array_equal(swaps.get_ydata(), dense.history_["swaps"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["utility", "swaps"]


def test_any_column_of_a_history(dense):
    line = history_over_stream(dense, "evaluations").axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), dense.history_["evaluations"])


def test_values_over_orders_of_magnitude_have_a_logarithmic_axis():
    def recorded(*values):
        return SimpleNamespace(history_={"n_seen": np.arange(1, len(values) + 1), "error": np.array(values)})

    steep = history_over_stream(recorded(np.nan, 9.0, 0.2, 0.01), "error", "squared error").axes[0]
    assert (steep.get_yscale(), steep.get_ylabel()) == ("log", "squared error")
    for values in ((3.0, 2.0), (1.0, 0.0), (np.nan, np.nan)):
        assert history_over_stream(recorded(*values), "error").axes[0].get_yscale() == "linear"


def test_sizes_are_sorted_bars(dense):
    axes = cluster_sizes(dense).axes[0]
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], [600, 300, 100])
    assert axes.lines[0].get_ydata()[0] == pytest.approx(1000 / 3)


def test_many_sizes_are_one_outline():
    learner = OnlineKMeans(200).fit(np.arange(300.0)[:, None])
    (outline,) = cluster_sizes(learner).axes[0].patches
    np.testing.assert_array_equal(outline.get_data().values, np.sort(learner.cluster_sizes_)[::-1])


def test_map_has_every_row_in_the_colour_of_its_exemplar(dense):
    rows, exemplars = exemplar_map(dense).axes[0].collections
    assert len(rows.get_offsets()) == 1000
    assert len({to_hex(c) for c in exemplars.get_facecolors()}) == 3
    row_colours = np.array([to_hex(c) for c in rows.get_facecolors()])
    exemplar_colours = np.array([to_hex(c) for c in exemplars.get_facecolors()])
    np.testing.assert_array_equal(row_colours, exemplar_colours[dense.validation_labels_])
    order = np.argsort(dense.cluster_sizes_)
    assert (np.diff(exemplars.get_sizes()[order]) > 0).all()


def test_map_keeps_blobs_apart(dense):
    """Rows lie nearer to their own exemplar on the map too: it is a picture of the clusters."""
    rows, exemplars = (np.asarray(shown.get_offsets()) for shown in exemplar_map(dense).axes[0].collections)
    distances = np.linalg.norm(rows[:, None] - exemplars, axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), dense.validation_labels_)


def test_two_columns_are_drawn_as_they_are(blobs):
    learner = ExemplarClustering(3, random_state=0).fit(blobs[:, :2])
    axes = exemplar_map(learner).axes[0]
    np.testing.assert_array_equal(axes.collections[1].get_offsets(), learner.exemplars_)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x0", "x1")


@pytest.mark.parametrize(
    "X", [np.arange(50.0)[:, None], np.ones((50, 4)), np.eye(1, 3), np.eye(2, 3), csr_matrix(np.eye(3, 90))]
)
def test_maps_of_flat_data(X):
    rows, _ = exemplar_map(ExemplarClustering(2, random_state=0).fit(X)).axes[0].collections
    assert np.isfinite(np.asarray(rows.get_offsets())).all()


def test_sparse_rows_stay_sparse_on_the_map(sparse_rows):
    rows, exemplars = exemplar_map(sparse_rows).axes[0].collections
    assert (len(rows.get_offsets()), len(exemplars.get_offsets())) == (400, 6)


def test_objects_are_scaled_by_their_dissimilarities(words):
    rows, exemplars = (np.asarray(shown.get_offsets()) for shown in exemplar_map(words).axes[0].collections)
    own = exemplars[words.validation_labels_]
    other = exemplars[1 - words.validation_labels_]
    assert (np.linalg.norm(rows - own, axis=1) < np.linalg.norm(rows - other, axis=1)).all()
    at = [words.validation_rows_.index(word) for word in words.exemplars_]
    np.testing.assert_allclose(rows[at], exemplars, atol=1e-9)  # an exemplar is one of the rows


def test_pictures_on_the_map(digits):
    boxes = [a for a in exemplar_map(digits, image=(8, 8)).axes[0].artists if isinstance(a, AnnotationBbox)]
    assert 1 < len(boxes) <= 12
    largest = as_pictures(digits.exemplars_, (8, 8))[_at(digits)]
    np.testing.assert_array_equal(boxes[0].offsetbox.get_data(), largest)


def _at(learner):
    return int(learner.cluster_sizes_.argmax())


def test_contact_sheet_starts_with_the_largest_cluster(digits):
    sheet = exemplar_images(digits, (8, 8)).axes[0].images[0].get_array()
    first = digits.exemplars_[_at(digits)].reshape(8, 8)
    np.testing.assert_allclose(sheet[:8, :8, 0], np.round(first / 16 * 255), atol=1)
    assert (sheet[:8, 8, 3] == 0).all()  # a transparent gap


def test_colour_pictures_keep_their_channels():
    red = np.tile([1.0, 0.0, 0.0], 6)
    picture = as_pictures(np.array([red, red[::-1]]), (2, 3, 3))
    assert picture.shape == (2, 2, 3, 3)
    assert (picture[0, ..., 0] == 255).all()
    assert (picture[0, ..., 1:] == 0).all()
    assert data_uri(picture[0]).startswith("data:image/png;base64,")


def test_pictures_of_one_grey_do_not_divide_by_zero():
    assert (as_pictures(np.full((3, 4), 7.0), (2, 2)) == 0).all()


@pytest.mark.parametrize(("shape", "message"), [((5, 5), "need 25 columns.*have 64"), ((64,), "got \\(64,\\)")])
def test_wrong_shapes_are_named(digits, shape, message):
    with pytest.raises(ValueError, match=message):
        exemplar_images(digits, shape)


def test_neighbours_differ_in_colour():
    line = np.c_[np.arange(60.0), np.zeros(60)]
    colours = spread_colours(line, 6)
    assert (colours[1:] != colours[:-1]).all()
    assert set(colours) == set(range(6))


def test_svg_takes_the_colours_of_the_page(dense):
    svg = as_svg(exemplar_map(dense), 'rows & "more"')
    assert svg.startswith('<svg viewBox="0 0 ')
    assert 'aria-label="rows &amp; &quot;more&quot;"' in svg
    assert "var(--ink)" in svg
    assert "http" not in svg
    ids = re.findall(r' id="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"(?:href=\"|url\()#([^\")]+)", svg)) == set(ids)


def test_figures_leave_pyplot_alone(dense):
    import matplotlib.pyplot as plt

    assert isinstance(cluster_sizes(dense), Figure)
    assert not plt.get_fignums()


# ---- selectors -----------------------------------------------------------------------------------------


def test_value_and_swaps_over_the_stream(prototypes):
    value, swaps = (axes.lines[0] for axes in value_over_stream(prototypes, "log-determinant").axes)
    history = prototypes.history_
    np.testing.assert_array_equal(value.get_xydata(), np.c_[history["n_seen"], history["value"]])
    np.testing.assert_array_equal(swaps.get_ydata(), history["swaps"])


def test_a_value_to_be_minimized_is_drawn_with_its_sign(prototypes):
    line = value_over_stream(prototypes, sign=-1.0).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), -prototypes.history_["value"])


def test_an_estimate_ends_at_a_true_value(blocks):
    axes = value_over_stream(blocks).axes[0]
    estimate, dot = axes.lines
    assert axes.get_ylabel() == "value (estimate)"
    np.testing.assert_array_equal(estimate.get_ydata(), blocks.history_["value"])
    np.testing.assert_allclose(dot.get_xydata(), [[1000, blocks.value_]])


def test_similar_prototypes_are_next_to_each_other(prototypes):
    order = order_by_similarity(prototypes)
    np.testing.assert_array_equal(np.sort(order), np.arange(30))
    K = similarities(prototypes)
    in_order = K[order[1:], order[:-1]].mean()
    assert in_order > K[1:, :-1].diagonal().mean()
    blob = np.argmax(prototypes.prototypes_[order][:, :3], axis=1)  # blobs are far apart: each is contiguous
    assert np.count_nonzero(np.diff(blob)) == 2
    shades = similarity_matrix(prototypes).axes[0].images[0].get_array()
    np.testing.assert_allclose(shades[..., 3], K[np.ix_(order, order)])


def test_opposite_rows_have_another_colour():
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, 1.0], [2.0, 0.1]])
    selector = OnlineGreedy(4, kernel=Linear()).fit(X)
    K = similarities(selector)
    np.testing.assert_allclose(K.diagonal(), 1.0)
    shades = similarity_matrix(selector).axes[0].images[0].get_array().reshape(-1, 4)
    assert len({tuple(colour) for colour in shades[:, :3].round(3)}) == 2
    assert nearest_similarities(selector).axes[0].get_xlim()[0] < 0 or K.min() >= 0


def test_histogram_of_nearest_similarities(prototypes):
    bars = nearest_similarities(prototypes).axes[0].patches
    assert sum(bar.get_height() for bar in bars) == 30


@pytest.mark.parametrize("n", [1, 2])
def test_few_prototypes(n):
    selector = OnlineGreedy(n, kernel="linear").fit(np.eye(5))
    similarity_matrix(selector)
    nearest_similarities(selector)
    prototype_map(selector)


def test_map_of_prototypes_by_block(blocks):
    dots = prototype_map(blocks).axes[0].collections[0]
    colours = np.array([to_hex(c) for c in dots.get_facecolors()])
    assert len(dots.get_offsets()) == 30
    for block in set(blocks.blocks_):
        assert len(set(colours[blocks.blocks_ == block])) == 1


# ---- predictions ---------------------------------------------------------------------------------------


def test_predictions_against_truth():
    truth = np.linspace(-1, 1, 50)
    dots = predicted_and_true(truth**2, truth).axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 1], dots[:, 0] ** 2)


def test_intervals_of_the_right_width_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    std = rng.uniform(0.5, 2.0, 20_000)
    errors = std * rng.normal(size=len(std))
    _, line = interval_coverage(errors, std).axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), line.get_xdata(), atol=0.02)  # four standard errors are 0.014
    assert (coverage(errors, 0.5 * std, [0.5, 0.95]) < [0.4, 0.8]).all()


# ---- classifiers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3, 60, 300, 1797])
def test_accuracy_by_intervals_of_the_stream(rows):
    """Intervals of any length cover all rows, and their correct predictions add up."""
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 2))
    classifier = StreamSVC(random_state=0).fit(X, X[:, 0] > 0) if rows > 1 else StreamSVC().fit(X, [1])
    ends, accuracy, so_far = accuracy_curve(classifier)
    counts = np.diff(ends, prepend=0)
    assert ends[-1] == rows
    assert (counts > 0).all()
    np.testing.assert_allclose(np.cumsum(accuracy * counts) / ends, so_far)
    assert so_far[-1] == pytest.approx(classifier.accuracy_)


def test_accuracy_along_the_stream_and_so_far(classified):
    so_far, latest = accuracy_over_stream(classified).axes[0].lines
    assert so_far.get_ydata()[-1] == pytest.approx(classified.accuracy_)
    assert len(latest.get_xdata()) == 1797 // 50
    assert latest.get_ydata()[-5:].mean() > so_far.get_ydata()[-1] > latest.get_ydata()[0]


def test_confusion_in_two_colours(classified):
    axes = confusion_matrix(classified).axes[0]
    shades = axes.images[0].get_array()
    shares = classified.confusion_ / classified.confusion_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.diag(shades[..., 3]), FAINT * np.diag(shares))
    colours = {tuple(shade) for shade in shades[~np.eye(10, dtype=bool) & (shares > 0), :3]}
    assert len(colours) == 1
    assert tuple(shades[0, 0, :3]) not in colours
    assert len(axes.texts) == np.count_nonzero(shares)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [str(i) for i in range(10)]


def test_of_many_classes_the_largest_are_shown():
    y = np.concatenate([np.arange(40), np.arange(10, 40), np.arange(10, 40)])
    rng = np.random.default_rng(0)
    classifier = StreamSVC(class_weight="balanced", random_state=0).fit(rng.normal(size=(100, 3)), y)
    axes = confusion_matrix(classifier).axes[0]
    names = [int(tick.get_text()) for tick in axes.get_yticklabels()]
    assert names == list(range(10, 40))
    assert len(names) == MOST_CLASSES
    assert not axes.texts  # a cell has no room for a number


def test_weights_as_pictures(classified):
    panels = weight_images(classified, (8, 8)).axes
    assert [axes.get_title() for axes in panels] == [str(i) for i in range(10)]
    shades = np.array([axes.images[0].get_array() for axes in panels])
    weights = classified.coef_.reshape(10, 8, 8)
    order = np.argsort(np.abs(weights).ravel())
    assert (np.diff(shades[..., 3].ravel()[order]) >= 0).all()
    blue = shades[weights > 0][0, :3]
    np.testing.assert_array_equal((shades[..., :3] == blue).all(axis=-1)[weights != 0], (weights > 0)[weights != 0])


def test_weights_of_colours_are_added_up(spam):
    X = np.random.default_rng(0).normal(size=(200, 12))
    classifier = StreamSVC(random_state=0).fit(X, X[:, 0] > 0)
    (panel,) = weight_images(classifier, (2, 2, 3)).axes
    strongest = np.unravel_index(panel.images[0].get_array()[..., 3].argmax(), (2, 2))
    assert strongest == (0, 0)
    assert panel.get_title() == "True"
    with pytest.raises(ValueError, match=r"need 9 columns.*have 4"):
        weight_images(spam, (3, 3))


def test_largest_weights_as_bars(spam):
    axes = largest_weights(spam).axes[0]
    bars = [bar.get_width() for bar in axes.patches]
    assert bars == sorted(spam.coef_[0])
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert (names[0], names[-1]) == ("x3", "x1")
    assert len({to_hex(bar.get_facecolor()) for bar in axes.patches}) == 2


def test_columns_with_similar_names_have_separate_bars():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(200, 3))
    frame = pd.DataFrame(X, columns=[f"a very long name of a column {i}" for i in range(3)])
    assert len(largest_weights(StreamSVC().fit(frame, X[:, 0] > 0)).axes[0].patches) == 3


# ---- far points and labels -----------------------------------------------------------------------------


def _boxes(axes):
    axes.get_figure().draw_without_rendering()
    return [text.get_window_extent() for text in axes.texts]


def test_a_few_far_rows_do_not_squash_the_map(blobs):
    X = blobs[:, :2].copy()
    X[:4] = [[1e5, 0], [-1e5, 0], [0, 1e5], [0, -1e5]]
    axes = exemplar_map(ExemplarClustering(3, random_state=0).fit(X)).axes[0]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert max(right - left, top - bottom) < 100  # the blobs span 25
    assert axes.get_title(loc="right") == "4 points beyond the edges (triangles)"
    drawn = np.concatenate([np.asarray(dots.get_offsets()) for dots in axes.collections])
    assert ((drawn >= [left, bottom]) & (drawn <= [right, top])).all()


def test_maps_without_far_rows_show_all_where_they_are(dense):
    assert exemplar_map(dense).axes[0].get_title(loc="right") == ""


@pytest.mark.parametrize("columns", [2, 5])
def test_far_points_of_all_kinds_of_maps(blobs, columns):
    X = blobs[:, :columns].copy()
    X[3] = 1e6
    figures = [
        coreset_map(StreamKMeans(3, random_state=0).fit(X)),
        prototype_map(OnlineGreedy(30, kernel="linear").fit(X)),
        predicted_and_true(X[:, 0], X[:, 1]),
    ]
    for figure in figures:
        axes = figure.axes[0]
        assert axes.get_xlim()[1] - axes.get_xlim()[0] < 1e4
        assert "1 point beyond" in axes.get_title(loc="right")


def test_far_rows_do_not_decide_the_principal_components(blobs):
    X = np.vstack([blobs, 1e6 * np.eye(5)[4:]])
    learner = ExemplarClustering(3, random_state=0).fit(X)
    rows = exemplar_map(learner).axes[0].collections[0].get_offsets()
    assert np.ptp(np.asarray(rows), axis=0).min() > 15  # both components separate the blobs


def test_usual_ranges():
    assert usual_range(np.arange(5.0)) == (-np.inf, np.inf)
    assert usual_range(np.append(np.zeros(99), 7.0)) == (-np.inf, np.inf)  # nothing to see without it
    low, high = usual_range(np.append(np.random.default_rng(0).normal(size=1000), [-50, 60]))
    assert -7 < low < -4
    assert 4 < high < 7


def test_labels_do_not_overlap():
    rng = np.random.default_rng(0)
    _, axes = new_figure()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    points = np.vstack([rng.uniform(size=(20, 2)), np.full((20, 2), 0.5)])  # half of them on the same spot
    place_labels(axes, points, [f"component {i}" for i in range(40)])
    boxes, room = _boxes(axes), axes.get_window_extent()
    assert 5 < len(boxes) < 40
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(room.x0 <= box.x0 and box.x1 <= room.x1 for box in boxes)
    assert axes.texts[0].get_text() == "component 0"


def test_labels_of_any_script_and_length():
    figure, axes = new_figure()
    place_labels(axes, [(0.5, 0.5), (0.5, 0.2)], ["漢字 $x$ <b>", "long " * 50])
    assert [len(text.get_text()) <= 24 for text in axes.texts] == [True, True]
    assert "&lt;b&gt;" in as_svg(figure, "labels")


def test_scores_over_stream_share_an_axis_and_show_where_errors_rose():
    n_seen = np.array([100.0, 200.0, 300.0])
    recent, overall = np.array([0.9, 0.5, 0.7]), np.array([0.9, 0.7, 0.7])
    change = Change(180, 150, 0.4)
    (axes,) = scores_over_stream(Prequential("accuracy", n_seen, overall, recent, n_seen, n_seen, [change])).axes
    for line, expected in zip(axes.lines, (recent, overall), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert axes.lines[2].get_xdata() == [150, 150]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["recent rows", "all rows", "errors rose"]
    assert axes.get_ylabel() == "accuracy"


def test_scores_of_several_learners_have_a_colour_each():
    n_seen, nothing = np.array([100.0, 200.0, 300.0]), np.zeros(3)
    recent = {"svm": np.array([0.9, 0.5, 0.7]), "svm(C=1)": np.array([0.8, 0.6, 0.7])}
    scores = {
        name: Prequential("accuracy", n_seen, values, values, n_seen, nothing, [Change(180, 150, 0.4)])
        for name, values in recent.items()
    }
    figure = scores_over_stream(scores)
    (axes,) = figure.axes
    for line, mark, expected in zip(axes.lines[0:4:2], axes.lines[1:4:2], recent.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), expected)
        assert [*mark.get_xdata(), *mark.get_ydata()] == pytest.approx([150, expected[:2].mean()])
        assert mark.get_color() == line.get_color()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["svm", "svm(C=1)", "errors rose"]


def test_changes_over_stream_are_stems_from_where_they_were():
    changes = [Change(180, 150, 0.4), Change(720, 700, 0.1)]
    (axes,) = changes_over_stream(SimpleNamespace(changes_=changes, n_seen_=1000)).axes
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[150, 0.4], [700, 0.1]])
    stems = [segment.tolist() for segment in axes.collections[0].get_segments()]
    assert stems == [[[150, 0], [150, 0.4]], [[700, 0], [700, 0.1]]]
    bands = [(patch.get_x(), patch.get_width()) for patch in axes.patches]
    assert bands == [(150, 30), (700, 20)]
    assert {text.get_text() for text in axes.texts} == {"150", "700"}
    assert axes.get_xlim() == (0, 1000)
