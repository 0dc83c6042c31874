"""Figures and pages of information maximisation show clusters, their rows, and the path to their number."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits

from modicum import RIM, KernelRIM, make_pipeline, stream
from modicum.pipeline import TableEncoder
from modicum.plot import clusters_over_stream, regularization_path


@pytest.fixture(scope="module")
def chosen(blobs):
    return RIM(8, random_state=0).fit(blobs[:300])


@pytest.fixture(scope="module")
def pictures():
    return RIM(n_clusters=10, regularization=1e-3, random_state=0).fit(load_digits().data[:600])


def html(tmp_path):
    return (tmp_path / "r.html").read_text()


class TestFigures:
    def test_a_path_is_that_of_the_choice(self, chosen):
        clusters, judged = regularization_path(chosen).axes
        np.testing.assert_array_equal(clusters.lines[0].get_ydata(), chosen.choice_["n_clusters"])
        curves = {line.get_label(): line.get_ydata() for line in judged.lines}
        np.testing.assert_array_equal(curves["stability"], chosen.choice_["stability"])
        np.testing.assert_array_equal(curves["of rows without clusters"], chosen.choice_["null"])
        np.testing.assert_array_equal(curves["score"], chosen.choice_["score"])

    def test_the_chosen_one_is_marked(self, chosen):
        for axes in regularization_path(chosen).axes:
            assert axes.lines[-1].get_xdata()[0] == chosen.regularization_
        assert [text.get_text() for text in regularization_path(chosen).axes[0].texts] == [
            f"chosen: {chosen.regularization_:.3g}"
        ]

    def test_columns_will_do(self):
        columns = {"regularization": np.geomspace(1e-4, 1e-1, 4), "n_clusters": np.array([3, 3, 2, 1])}
        (axes,) = regularization_path(columns).axes
        assert len(axes.lines) == 1
        (axes,) = regularization_path(columns, chosen=1e-4).axes
        assert len(axes.lines) == 2

    def test_no_path_to_draw(self, pictures):
        with pytest.raises(ValueError, match="the regularization was given"):
            regularization_path(pictures)

    def test_clusters_over_the_stream(self, blobs):
        learner = RIM(6, regularization=1e-3, budget=200, random_state=0).fit(stream(blobs, chunk_size=100))
        clusters, information = (axes.lines[0] for axes in clusters_over_stream(learner).axes)
        np.testing.assert_array_equal(clusters.get_ydata(), learner.history_["clusters"])
        np.testing.assert_array_equal(information.get_ydata(), learner.history_["information"])


class TestPages:
    def test_facts(self, text_of, chosen):
        text = text_of(chosen, seconds=2.0)
        assert f"{chosen.n_clusters_} clusters found in 300 rows." in text
        assert f"Regularization {chosen.regularization_:.3g}, chosen by stability: " in text
        assert "Not sure" not in text

    def test_doubt(self, text_of):
        learner = RIM(8, random_state=0).fit(np.random.default_rng(0).normal(size=(200, 2)))
        assert "Not sure: " in text_of(learner)

    def test_typical_pictures_of_each_cluster(self, text_of, pictures, tmp_path):
        text_of(pictures, image=(8, 8))
        found = re.findall(r"<h3[^>]*>(.*?)</h3>(.*?)</ol>", html(tmp_path), re.DOTALL)
        order = np.argsort(-pictures.weights_, kind="stable")
        assert [heading.partition(":")[0] for heading, _ in found] == [f"cluster {k}" for k in order]
        typical = pictures.typical(10)
        for k, (_, cards) in zip(order, found, strict=True):
            assert re.findall(r">row ([\d,]+)<", cards) == [f"{i:,}" for i in typical[k].ids]

    def test_uncertain_pictures(self, text_of, pictures):
        uncertain = text_of(pictures, image=(8, 8)).partition("Uncertain rows")[2]
        picks = pictures.uncertain(20)
        first, second = np.argsort(-pictures.predict_proba(picks.rows[:1])[0])[:2]
        entropy = pictures.conditional_entropy(picks.rows[:1])[0]
        assert f"row {picks.ids[0]:,} {first} or {second} entropy {entropy:.3f}" in uncertain

    def test_rows_of_a_table_have_all_their_columns(self, text_of, blobs):
        rows = [{"a": float(a), "b": float(b), "code": f"n{i:03}"} for i, (a, b) in enumerate(blobs[:200, :2])]
        pipeline = make_pipeline(TableEncoder(), RIM(n_clusters=3, regularization=1e-3, random_state=0)).fit(rows)
        text = text_of(pipeline)
        typical = pipeline.originals(pipeline.learner_.typical(1)[0])
        assert re.search(rf" {typical.ids[0]} \S+ \S+ n{typical.ids[0]:03} ", text.partition("Typical rows")[2])
        uncertain = pipeline.originals(pipeline.learner_.uncertain(1))
        assert f"n{uncertain.ids[0]:03}" in text.partition("Uncertain rows")[2]

    def test_picture_files(self, text_of, tmp_path):
        Image = pytest.importorskip("PIL.Image")
        rng = np.random.default_rng(0)
        for i in range(30):
            pixels = np.clip(rng.normal([[[220, 30, 30]], [[30, 30, 220]]][i % 2], 20, (24, 32, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"p{i:02}.png")
        learner = RIM(n_clusters=2, regularization=1e-3, random_state=0)
        text = text_of(make_pipeline(TableEncoder(), learner).fit(stream(str(tmp_path), raw=True)))
        assert html(tmp_path).count("<img") == 40  # ten of each cluster, and twenty uncertain ones
        assert re.search(r"p\d\d\.png [01] or [01] entropy \d", text.partition("Uncertain rows")[2])

    def test_names_of_classes(self, text_of, blobs):
        known = np.where(np.arange(300) % 10 == 0, np.where(blobs[:300, 0] > 10, "<b>far</b>", "near"), "")
        learner = RIM(regularization=1e-3, random_state=0).fit(blobs[:300], known)
        text = text_of(learner)
        assert "Labels: 30 of 300 rows, of 2 classes." in text
        assert "&lt;b&gt;far&lt;/b&gt;: " in text

    @pytest.mark.parametrize("rows", [csr_matrix(np.eye(6)[np.arange(60) % 6]), np.ones((30, 2)), np.eye(1, 3)])
    def test_other_rows(self, text_of, rows):
        text = text_of(RIM(6, regularization=1e-3, random_state=0).fit(rows))
        assert "Typical rows" in text

    def test_objects(self, text_of):
        def alike(a, b):
            return float(a[0] == b[0]) + 0.1 * float(a == b)

        learner = KernelRIM(n_clusters=2, kernel=alike, n_prototypes=4, regularization=1e-3, random_state=0)
        assert "abc" in text_of(learner.fit(["abc", "abd", "xyz", "xyw"] * 10))

    def test_the_learner_stays_as_it_was(self, text_of, chosen):
        before = chosen.to_bytes()
        text_of(chosen)
        assert chosen.to_bytes() == before
